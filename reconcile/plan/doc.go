// Package plan computes what controllers would do with changed manifests.
//
// It has the four steps before and after the controllers settle; reconcile/settle waits for
// that:
//
//	Load      manifests from files, directories, a kustomization or a stream
//	Apply     them, in the order and with the waits that a cluster needs
//	Capture   all objects of a cluster at one moment
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
// cli-runtime's resource.Builder is the convention for reading manifests, and Load follows its
// rules (extensions, -R, "-", lists flattened). It is not used itself because it reports an
// invalid document by its number within the stream and a valid one by its file only; a
// reviewer needs file and line for both, also for an object that the API server rejects later.
// It also fetches URLs. Values are decoded as in kubectl, by sigs.k8s.io/yaml, with its YAML
// 1.1 booleans; only the lines come from elsewhere. It is stricter than kubectl in one point:
// a key that is set twice in a mapping is an error.
//
// # Applying
//
// Apply uses server-side apply with the field manager "kctl-ctrl", force, and strict field
// validation. Fields that "kubectl get -o yaml" adds (status, UID, resourceVersion,
// managedFields…) are left out of the request. The order is CustomResourceDefinitions,
// admission policies (after their parameters), namespaces, quotas before the objects that
// they count, then the objects that workloads use, then workloads. Apply waits until objects
// that affect admission are in effect, so that the result does not depend on the size or the
// order of the set. Manifests override the sandbox's own objects of the same name (its
// StorageClass, its nodes). Some objects cannot be simulated and are changed or left out,
// always with a note: CronJobs are suspended, webhooks get no rules, APIServices with a
// backend and objects that a control plane maintains itself are not applied, and
// spec.replicas of an object that a HorizontalPodAutoscaler of the set scales is not changed.
//
// # Comparing
//
// Compare is a pure function, and its result is the same for every run that settled in the
// same state. Objects are compared at the start and at the end only, never in between:
// upstream leaves to chance how many steps a rollout takes, which of three equal pods is
// chosen and which node gets it (kube-scheduler breaks ties at random), and this is not part
// of a plan. Dependents with generated names (metadata.generateName, PersistentVolumes named
// by UID) are counted under their owner. One result is random even in the settled state: if a
// quota is too small for two workloads together, either may get it.
package plan
