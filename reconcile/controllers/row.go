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

// row is one of upstream's controllers: what can be said of it without a
// cluster, and how to build it.
type row struct {
	name    string
	aliases []string
	// does is a clause with the controller as its subject, for listings.
	does string

	// disabledByDefault: "*" does not select it.
	disabledByDefault bool
	// gates must all be on; the same list as upstream's descriptor.
	gates []featuregate.Feature
	// parts are the names of its loops, where it has several.
	parts []string
	// namespaceSafe: the loop stays correct when its informers see one
	// namespace only. A cluster-wide loop that sees a part takes the rest for
	// deleted.
	namespaceSafe bool

	// queues names the work queues as upstream names them for its metrics,
	// sorted.
	queues []string
	// reads lists the types the loop has shared informers for, written
	// "group/version/resource", or "version/resource" for the core group.
	reads []string
	// readsIf are further types, behind a feature gate.
	readsIf map[featuregate.Feature][]string
	// readsAll: it also has an informer for each type that discovery returns.
	readsAll bool

	// workers is how many keys of one queue the loop handles at a time.
	workers func(*componentConfig) int
	// needs are inputs and settings it cannot start without.
	needs []need
	// build makes the loops. It starts nothing that outlives ctx. An error
	// means that this one row cannot run; it is wrapped by the caller.
	build func(ctx context.Context, s *scope) ([]loop, error)
}

// need is something a row cannot start without, apart from feature gates and
// served types.
type need struct {
	// what names it for a listing: "--allocate-node-cidrs".
	what string
	// missing returns why the row is off, or "".
	missing func(*facts) string
}

// facts is what a need looks at.
type facts struct {
	component *componentConfig
	// hasRootCA: the cluster's CA certificate is known.
	hasRootCA bool
	// selected: the row was asked for.
	selected func(name string) bool
}

// loop is one struct of upstream's with its Run method. Most rows have one.
type loop struct {
	// name is the row's name, or, where the row has several loops, the part.
	name string
	// target is the pointer to upstream's struct: what a tap reaches into.
	target any
	// run blocks until ctx is done and its goroutines have ended.
	run func(context.Context)
}

// table returns upstream's 49 controllers, sorted by name.
func table() []row {
	rows := slices.Concat(
		appsRows(), autoscalingRows(), batchRows(), bootstrapRows(), certificatesRows(),
		coreRows(), discoveryRows(), networkingRows(), nodeRows(), policyRows(), rbacRows(),
		resourceRows(), schedulingRows(), serviceAccountRows(), storageVersionRows(),
		admissionRows(), volumeRows(),
	)
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows
}

// informers lists the types the row has informers for, with the feature gates
// as they are now; sorted, each once.
func (r *row) informers() []schema.GroupVersionResource {
	all := slices.Clone(r.reads)
	for gate, more := range r.readsIf {
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
// of the row's informers, or everything.
func (r *row) needsToRead() []schema.GroupVersionResource {
	types := r.informers()
	if r.readsAll {
		types = append(types, everyType)
	}
	return types
}

// gateOff returns the first required feature gate that is off.
func (r *row) gateOff() (featuregate.Feature, bool) {
	for _, g := range r.gates {
		if !enabled(g) {
			return g, true
		}
	}
	return "", false
}

// off returns why the row cannot start here, as far as that is known without
// asking a server; "" if it can.
func (r *row) off(f *facts) string {
	if g, off := r.gateOff(); off {
		return fmt.Sprintf("feature gate %s is off", g)
	}
	for _, n := range r.needs {
		if reason := n.missing(f); reason != "" {
			return reason
		}
	}
	return ""
}

func (r *row) workerCount(c *componentConfig) int {
	if r.workers == nil {
		return 0
	}
	return r.workers(c)
}

// workers is for rows whose number of workers upstream fixed in its code.
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
