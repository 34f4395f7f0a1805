package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
)

// componentConfig is upstream's configuration of all loops.
type componentConfig = kubectrlmgrconfig.KubeControllerManagerConfiguration

// Descriptor is one of upstream's controllers: all that this program knows of it
// without a cluster, and how to build it. Every other table is derived from these.
type Descriptor struct {
	// Name is upstream's; Aliases are the older names that --controllers takes.
	Name    string
	Aliases []string
	// Does is a clause with the controller as its subject, for listings.
	Does string
	// Account is the name of the controller's ServiceAccount in kube-system and,
	// after "system:controller:", of its bootstrap role: what
	// kube-controller-manager asks its client builder for (k8s.io/kubernetes
	// v1.37.1 cmd/kube-controller-manager/app, NewClient). It is older than Name.
	// The token controller alone has none: upstream starts it first, with
	// kube-controller-manager's own credentials, to make the others' tokens.
	Account string
	// Decides lists the types, "deployments.apps", of the objects that it decides
	// about. A controller that merely looks at an object does not decide about it, and the
	// garbage collector, which looks at every type, decides about none.
	Decides []string

	// OffByDefault: "*" does not select it.
	OffByDefault bool
	// Gates must all be on; the same list as upstream's descriptor.
	Gates []featuregate.Feature
	// NamespaceSafe: it stays correct when its informers see one namespace only. A
	// cluster-wide controller that sees a part takes the rest for deleted.
	NamespaceSafe bool

	// Expects: it counts what it creates and deletes (k8s.io/kubernetes v1.37.1
	// pkg/controller/controller_utils.go), and skips a key until the objects appear or
	// ExpectationsTimeout is over: after a dry write they never do.
	Expects bool

	// Parts are the names of its loops, where it has several.
	Parts []string
	// Queues are its work queues, in the order in which they are attached.
	Queues []Queue
	// Reads lists the types that it has shared informers for, written
	// "group/version/resource", or "version/resource" for the core group.
	Reads []string
	// ReadsIf are further types, behind a feature gate.
	ReadsIf map[featuregate.Feature][]string
	// ReadsAll: it also has an informer for each type that discovery returns.
	ReadsAll bool

	// workers is how many keys of one queue it handles at a time.
	workers func(*componentConfig) int
	// needs are inputs and settings it cannot start without.
	needs []need
	// build makes its loops. It starts nothing that outlives ctx. An error means
	// that this one controller cannot run; it is wrapped by the caller.
	build func(ctx context.Context, s *scope) ([]loop, error)
}

// need is something a controller cannot start without, apart from feature gates and
// served types.
type need struct {
	// what names it for a listing: "--allocate-node-cidrs".
	what string
	// missing returns why the controller is off, or "".
	missing func(*facts) string
}

// facts is what a need looks at.
type facts struct {
	component *componentConfig
	// hasRootCA: the cluster's CA certificate is known.
	hasRootCA bool
	// selected: the controller was asked for.
	selected func(name string) bool
}

// loop is one struct of upstream's with its Run method. Most controllers have one.
type loop struct {
	// name is the controller's name, or, where it has several loops, the part.
	name string
	// target is the pointer to upstream's struct: what a tap reaches into.
	target any
	// run blocks until ctx is done and its goroutines have ended.
	run func(context.Context)
}

// Descriptors returns upstream's 49 controllers, sorted by name.
func Descriptors() []Descriptor {
	all := slices.Concat(
		appsControllers(), autoscalingControllers(), batchControllers(), bootstrapControllers(), certificatesControllers(),
		coreControllers(), discoveryControllers(), networkingControllers(), nodeControllers(), policyControllers(), rbacControllers(),
		resourceControllers(), schedulingControllers(), serviceAccountControllers(), storageVersionControllers(),
		admissionControllers(), volumeControllers(),
	)
	slices.SortFunc(all, func(a, b Descriptor) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// informers lists the types the controller has informers for, with the feature gates
// as they are now; sorted, each once.
func (d *Descriptor) informers() []schema.GroupVersionResource {
	all := slices.Clone(d.Reads)
	for gate, more := range d.ReadsIf {
		if enabled(gate) {
			all = append(all, more...)
		}
	}
	slices.Sort(all)
	var out []schema.GroupVersionResource
	for _, s := range slices.Compact(all) {
		out = append(out, gvr(s))
	}
	return out
}

// needsToRead lists what the user must be allowed to list and watch: the types
// of its informers, or everything.
func (d *Descriptor) needsToRead() []schema.GroupVersionResource {
	types := d.informers()
	if d.ReadsAll {
		types = append(types, everyType)
	}
	return types
}

// gateOff returns the first required feature gate that is off.
func (d *Descriptor) gateOff() (featuregate.Feature, bool) {
	for _, g := range d.Gates {
		if !enabled(g) {
			return g, true
		}
	}
	return "", false
}

// off returns why the controller cannot start here, as far as that is known without
// asking a server; "" if it can.
func (d *Descriptor) off(f *facts) string {
	if g, off := d.gateOff(); off {
		return fmt.Sprintf("feature gate %s is off", g)
	}
	for _, n := range d.needs {
		if reason := n.missing(f); reason != "" {
			return reason
		}
	}
	return ""
}

func (d *Descriptor) workerCount(c *componentConfig) int {
	if d.workers == nil {
		return 0
	}
	return d.workers(c)
}

// workers is for controllers whose number of workers upstream fixed in its code.
func workers(n int) func(*componentConfig) int {
	return func(*componentConfig) int { return n }
}

func enabled(g featuregate.Feature) bool { return utilfeature.DefaultFeatureGate.Enabled(g) }

// gvr parses "apps/v1/deployments" and "v1/pods".
func gvr(s string) schema.GroupVersionResource {
	parts := strings.Split(s, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
}

// everyType stands for all resources in a question about rights.
var everyType = schema.GroupVersionResource{Group: "*", Version: "*", Resource: "*"}

// typeName is "deployments.apps", or "pods".
func typeName(r schema.GroupVersionResource) string {
	if r == everyType {
		return "every type"
	}
	return r.GroupResource().String()
}
