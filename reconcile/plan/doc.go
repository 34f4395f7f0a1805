// Package plan answers what a change of manifests makes the controllers do.
//
// It holds the four steps that surround the settling of the loops, which is
// somebody else's business (reconcile/settle):
//
//	Load      manifests from files, directories, a kustomization or a stream
//	Apply     them, in an order and with the waits that a cluster needs
//	Capture   everything a cluster holds at a moment
//	Compare   two such moments, per owner, into a document.Plan
//
// A caller runs them like this:
//
//	cluster, err := plan.NewCluster(config)
//	baseline, err := cluster.Capture(ctx)            // the sandbox's own objects
//	before, err := cluster.Apply(ctx, old, options)  // the objects of --base, or none
//	…settle…
//	start, err := cluster.Capture(ctx)
//	after, err := cluster.Apply(ctx, new, options)
//	deleted, err := cluster.Delete(ctx, plan.Removed(before, after))
//	…settle…
//	end, err := cluster.Capture(ctx)
//	result := plan.Compare(plan.Input{Baseline: baseline, Start: start, End: end, …})
//
// # Loading
//
// cli-runtime's resource.Builder is the convention for reading manifests, and
// Load follows its rules (extensions, -R, "-", lists flattened). It is not used
// itself because it reports a broken document by its number within the stream
// and a good one by its file only; a reviewer needs file and line for either,
// also for an object that the API server rejects later. It also fetches URLs.
// Values are decoded as kubectl decodes them, by sigs.k8s.io/yaml, with its
// YAML 1.1 booleans; only the lines come from elsewhere. Stricter than kubectl
// in one point: a key that is set twice in a mapping is an error.
//
// # Applying
//
// Server-side apply with the field manager "kctl-ctrl", force, and strict field
// validation. What "kubectl get -o yaml" adds (status, UID, resourceVersion,
// managedFields…) is left out of the request. CustomResourceDefinitions come
// first, then admission policies (after their parameters) and namespaces, quotas
// before what they count, then what workloads use, then workloads. What admission
// goes by is waited for until it is in force, so that the result does not depend
// on the size or the order of the set. Objects of the sandbox's own (its
// StorageClass, its nodes) yield to manifests of the same name. Some objects cannot be simulated and are changed or
// held back, always with a note: CronJobs are suspended, webhooks get no
// rules, APIServices with a backend and what a control plane maintains itself are
// not sent, spec.replicas of what a HorizontalPodAutoscaler of the set scales
// stays as it is.
//
// # Comparing
//
// Compare is a pure function, and its result is the same for every run that
// came to rest in the same state. Objects are compared at the start and at the
// end only, never on the way: how many steps a rollout took, which of three
// equal pods was chosen and which node got it is left to chance upstream
// (kube-scheduler breaks ties at random) and is not part of a plan. Dependents
// with generated names (metadata.generateName, PersistentVolumes named by UID)
// are counted under their owner. One thing is left to chance even at rest: of
// two workloads that a quota has no room for together, which gets it.
package plan
