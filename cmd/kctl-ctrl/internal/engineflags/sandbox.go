package engineflags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
)

// Sandbox describe the embedded control plane and the simulated part of
// the cluster.
type Sandbox struct {
	Version  string
	nodes    int
	nodeCPU  string
	nodeMem  string
	nodePods string
	pods     string
	AuditLog string
	// force reports whether --force was given, which allows replacing files.
	force func() bool
	// maxSize is --max-size.
	maxSize func() string
}

// AddTo registers the flags.
func (f *Sandbox) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.Version, "kubernetes-version", "", "minor version for the sandbox and the loops to behave like: "+strings.Join(sandbox.Versions(), ", ")+" (default the newest)")
	flags.IntVar(&f.nodes, "nodes", simulate.DefaultNodes, "number of simulated nodes; 0 switches the scheduler off too")
	flags.StringVar(&f.nodeCPU, "node-cpu", "8", "CPU capacity of a simulated node")
	flags.StringVar(&f.nodeMem, "node-memory", "32Gi", "memory capacity of a simulated node")
	flags.StringVar(&f.nodePods, "node-pods", "110", "number of pods that a simulated node takes")
	flags.StringVar(&f.pods, "pods", string(nodes.PodsReady), "what newly bound pods do: ready, pending or failing")
	flags.StringVar(&f.AuditLog, "audit-log", "", "write kube-apiserver's audit log (level Request, without the bodies of Secrets and tokens) to this file; one that exists needs --force")
	f.force = func() bool {
		force, err := flags.GetBool("force")
		return err == nil && force
	}
	f.maxSize = func() string {
		size, err := flags.GetString("max-size")
		if err != nil {
			return defaultMaxSize
		}
		return size
	}
}

// AddAuditFile registers what is about the audit log for commands that make no other file.
func AddAuditFile(flags *pflag.FlagSet) {
	flags.Bool("force", false, "replace a file of the name that --audit-log has")
	flags.String("max-size", defaultMaxSize, "end the audit log when it is this large")
}

// capacity reads the flags that describe a node.
func (f *Sandbox) capacity() (corev1.ResourceList, error) {
	capacity := corev1.ResourceList{}
	for _, entry := range []struct {
		name  corev1.ResourceName
		flag  string
		value string
	}{
		{corev1.ResourceCPU, "--node-cpu", f.nodeCPU},
		{corev1.ResourceMemory, "--node-memory", f.nodeMem},
		{corev1.ResourcePods, "--node-pods", f.nodePods},
	} {
		quantity, err := resource.ParseQuantity(entry.value)
		if err != nil || quantity.Sign() < 0 {
			return nil, fmt.Errorf("%s %q is not a quantity such as 8 or 32Gi", entry.flag, entry.value)
		}
		capacity[entry.name] = quantity
	}
	return capacity, nil
}

// Spec reads them.
func (f *Sandbox) Spec() (*engine.Sandbox, error) {
	capacity, err := f.capacity()
	if err != nil {
		return nil, err
	}
	behaviour, err := nodes.ParsePodBehaviour(f.pods)
	if err != nil {
		return nil, err
	}
	if f.nodes < 0 {
		return nil, fmt.Errorf("--nodes %d: a cluster cannot have less than no nodes", f.nodes)
	}
	s := &engine.Sandbox{
		KubernetesVersion: f.Version, Nodes: f.nodes, Capacity: capacity, Pods: behaviour,
		AuditLog: f.AuditLog, ReplaceAuditLog: f.force != nil && f.force(),
	}
	if f.AuditLog != "" {
		s.AuditLogBytes, err = parseMaxSize(f.maxSize())
	}
	return s, err
}
