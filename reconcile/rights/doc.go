// Package rights works out the least RBAC role with which a use of this program
// succeeds, and asks a server which of it the user lacks.
//
//	needs := rights.OfLoops(loops, rights.Options{Mode: rights.DryRun})
//	needs = append(needs, rights.OfVerbs([]string{"leases"})...)
//	rules := rights.Merge(rights.Confine(needs, namespace))
//	missing, err := rights.Missing(ctx, client, rules)
//
// # What a loop needs
//
// Upstream's bootstrap role of the loop (system:controller:NAME) and list and
// watch of the types of its informers, which upstream leaves to the role of
// kube-controller-manager itself: every type. Of these,
//
//	observe          get, list and watch of what its informers read
//	dry-run          what the role and the informers read, the reviews, which
//	                 are asked in a dry run too, and get of what it changes:
//	                 the guard answers a change from the object as it is, and
//	                 where no informer holds that it asks the server
//	dry-run=server   everything: the API server asks for the same rights with
//	                 dryRun=All as without. And list of APIServices, to know
//	                 which groups honour a dry run
//	active           everything, and the Lease
//
// With loops that impersonate their accounts, the writes and what the role reads
// are the accounts' business; the user needs the informers, what the guard reads
// and the right to impersonate.
//
// # What is least
//
// A role of upstream's is taken as it is, also where three loops share one, or
// where it has rights for admission plugins that a server may not have
// (blockOwnerDeletion, which OwnerReferencesPermissionEnforcement asks
// x/finalizers for) and for code that has gone since. Rights in the group
// "extensions" are left out: no server has served it since 1.22.
//
// The garbage collector, the resource quota controller with its many types, the
// namespace controller and the storage version migrator need every type: their
// rules have "*" because nothing less does. The same goes for the verbs that
// follow owners. RBAC has no right to metadata alone, so that includes Secrets.
//
// What any authenticated user may by default is not in the role: discovery
// (system:discovery) and asking what oneself may (system:basic-user).
//
// The package links nothing of k8s.io/kubernetes: what upstream says of a loop is
// handed in.
package rights
