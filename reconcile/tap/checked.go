package tap

// What this package assumes about code that is not its own was read, and is tested,
// with these versions. It assumes:
//
//   - of Go: the layout of goroutine labels and the two linknames to them (unsafe.go,
//     label.go);
//   - of client-go: that a rate-limiting queue holds its limiter in rateLimiter and the
//     queue that does the rest in TypedDelayingInterface (original.go), and that a shared
//     informer factory has namespace and tweakListOptions (factory.go);
//   - of controller-manager: typedInformerFactory and metadataInformerFactory (factory.go).
//
// What differs at run time is an error of Attach or of Informers, or leaves causes
// unknown; it is never a panic. The fields of controllers, which the descriptors of
// reconcile/controllers name, were read in Kubernetes' version.
//
// TestChecked fails when go.mod moves: read the places above in the new version, run the
// tests of this package, with the race detector too, and those of
// reconcile/controllers, and put the new version here.
const (
	checkedGo                = "1.26"
	checkedKubernetes        = "v1.37.1"
	checkedClientGo          = "v0.37.1"
	checkedControllerManager = "v0.37.1"
)
