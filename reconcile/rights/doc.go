// Package rights computes the minimal RBAC role for a use of this program, and asks a server
// which of its permissions the user is missing.
//
//	needs := rights.OfLoops(loops, rights.Options{Mode: rights.DryRun})
//	needs = append(needs, rights.OfVerbs([]string{"leases"})...)
//	rules := rights.Merge(rights.Confine(needs, namespace))
//	missing, err := rights.Missing(ctx, client, rules)
//
// # What a controller needs
//
// A controller needs upstream's bootstrap role for it (system:controller:NAME), and list and
// watch of the types of its informers. Upstream gives the latter to the role of
// kube-controller-manager itself, for every type. Of these,
//
//	observe          get, list and watch of what its informers read
//	dry-run          the reads of the role and of the informers, the reviews, which
//	                 are sent in a dry run too, and get of what it changes:
//	                 the guard computes its answer from the current object, and
//	                 if no informer holds that, it reads it from the server
//	dry-run=server   everything: the API server checks the same permissions with
//	                 dryRun=All as without. And list of APIServices, to find
//	                 which groups honour a dry run
//	active           everything, and the Lease
//
// If controllers impersonate their accounts, the writes and the reads of the role need
// permissions of the accounts; the user needs the permissions for the informers and the reads
// of the guard, and the permission to impersonate.
//
// # What is minimal
//
// A role of upstream's is copied unchanged, also if three controllers share it, or if it has
// permissions for admission plugins that a server may not have enabled (blockOwnerDeletion,
// for which OwnerReferencesPermissionEnforcement checks x/finalizers) or for code that was
// removed since. Permissions in the group "extensions" are left out: no server has served it
// since 1.22.
//
// The garbage collector, the resource quota controller with its many types, the namespace
// controller and the storage version migrator need every type: their rules have "*" because
// nothing less is sufficient. The same is true of the commands that follow owners. RBAC has no
// permission for metadata only, so that includes Secrets.
//
// The default permissions of every authenticated user are not in the role: discovery
// (system:discovery) and self-reviews (system:basic-user).
//
// The package links nothing of k8s.io/kubernetes: the caller passes upstream's roles.
package rights
