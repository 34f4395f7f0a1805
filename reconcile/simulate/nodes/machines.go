package nodes

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/agent"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/seen"
)

// DefaultCapacity is a middle-sized machine with the kubelet's default number of
// pods.
func DefaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("8"),
		corev1.ResourceMemory:           resource.MustParse("32Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}

// zones the nodes are spread over in turn, all of one region.
func zones() []string { return []string{"a", "b", "c"} }

func (n *Nodes) names() []string {
	names := make([]string, n.options.Count)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return names
}

// create registers the nodes with the server, as kubelets do, and returns the
// latest resourceVersion among them.
func (n *Nodes) create(ctx context.Context) (string, error) {
	var kubelet string
	err := agent.Eventually(ctx, func() error {
		info, err := n.client.Discovery().ServerVersion()
		if err == nil {
			kubelet = info.GitVersion
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("get the server version: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(podWorkers)
	var (
		mu     sync.Mutex
		latest string
	)
	for i, name := range n.names() {
		node := n.node(i, name, kubelet)
		group.Go(func() error {
			return agent.Eventually(ctx, func() error {
				created, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: Name})
				switch {
				case apierrors.IsAlreadyExists(err):
					return nil
				case err != nil:
					return fmt.Errorf("create node %s: %w", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if latest == "" || seen.Newer(created.ResourceVersion, latest) {
					latest = created.ResourceVersion
				}
				return nil
			})
		})
	}
	return latest, group.Wait()
}

// node is the i-th node, from 0, as its kubelet would register it. It is not
// ready yet: kwok's stage node-initialize makes it so.
func (n *Nodes) node(i int, name, version string) *corev1.Node {
	capacity := DefaultCapacity()
	maps.Copy(capacity, n.options.Capacity)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:       name,
				corev1.LabelArchStable:     "amd64",
				corev1.LabelOSStable:       "linux",
				corev1.LabelTopologyRegion: "simulated",
				corev1.LabelTopologyZone:   zones()[i%len(zones())],
			},
		},
		Spec: corev1.NodeSpec{ProviderID: "simulated://" + name},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity.DeepCopy(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: nodeAddress(i).String()},
				{Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            "amd64",
				OperatingSystem:         "linux",
				OSImage:                 "simulated",
				KernelVersion:           "simulated",
				ContainerRuntimeVersion: "simulated://",
				KubeletVersion:          version,
			},
		},
	}
}

func (n *Nodes) nodePlayer() (*player[*corev1.Node], error) {
	stages, err := nodeStages()
	if err != nil {
		return nil, err
	}
	// A kwok stage compiles itself at its first use, without a lock.
	if _, err := stages.ListAllPossible(context.Background(), &lifecycle.Event{Data: &corev1.Node{}}); err != nil {
		return nil, fmt.Errorf("compile node stages: %w", err)
	}
	p := &player[*corev1.Node]{
		kind:   "node",
		stages: stages,
		// kwok's functions for the address of a node that has none, its name and
		// the port of a kubelet: there is no kubelet to reach.
		renderer: gotpl.NewRenderer(gotpl.FuncMap{
			"NodeIP":   func() string { return "" },
			"NodeName": func() string { return "" },
			"NodePort": func() int { return 0 },
		}),
		get: func(key string) (*corev1.Node, bool) {
			node, err := n.nodeLister.Get(key)
			return node, err == nil
		},
		idle: func(node *corev1.Node) bool { return node.DeletionTimestamp != nil || n.options.Leave(node) },
		patch: func(ctx context.Context, node *corev1.Node, patch *lifecycle.Patch) (*corev1.Node, error) {
			data, err := precondition(patch, node.UID)
			if err != nil {
				return nil, err
			}
			return n.client.CoreV1().Nodes().Patch(ctx, node.Name, patch.Type, data,
				metav1.PatchOptions{FieldManager: Name}, subresources(patch)...)
		},
		remove: func(_ context.Context, node *corev1.Node) error {
			return fmt.Errorf("node %s: no stage deletes nodes", node.Name)
		},
		warn:    n.warn,
		changed: n.options.OnChange,
	}
	p.init(n.options.Clock)
	return p, nil
}

// nodeHandler plays the node's stages, holds its lease and, when a node comes or
// goes, looks at the pods on it: without a node they have no kubelet.
func (n *Nodes) nodeHandler(ctx context.Context) cache.ResourceEventHandler {
	play := n.nodes.handler()
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			node := obj.(*corev1.Node)
			if n.options.Leave(node) {
				return
			}
			n.leases.hold(ctx, node)
			play.OnAdd(obj, false)
			n.lookAtPodsOn(node.Name)
		},
		UpdateFunc: func(old, obj any) {
			if old, node := old.(*corev1.Node), obj.(*corev1.Node); old.UID != node.UID {
				n.leases.release(old.UID)
				if !n.options.Leave(node) {
					n.leases.hold(ctx, node)
				}
			}
			play.OnUpdate(old, obj)
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			play.OnDelete(obj)
			if node, ok := obj.(*corev1.Node); ok {
				n.leases.release(node.UID)
				n.lookAtPodsOn(node.Name)
			}
		},
	}
}

func (n *Nodes) lookAtPodsOn(node string) {
	objs, err := n.podIndex.ByIndex(nodeIndex, node)
	if err != nil {
		return
	}
	for _, obj := range objs {
		n.pods.enqueue(obj.(*corev1.Pod))
	}
}
