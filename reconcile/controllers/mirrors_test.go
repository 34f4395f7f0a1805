package controllers

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Every queue of every controller of the release is found, its keys have the
// layout that the mirror says, and no field is left with an original.
func TestSpecsFindEveryQueue(t *testing.T) {
	in := newFakeInputs(t)
	total := 0
	for _, d := range Descriptors() {
		t.Run(d.Name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tp := tap.New(&journal{})
			defer tp.Close()
			for _, l := range newFakeWorld(t, ctx, tp, in).build(d.Name) {
				for _, path := range originals(l.target) {
					t.Errorf("%s of %T is not tapped", path, l.target)
				}
			}
			total += len(tp.Queues(d.Name))
		})
	}
	// Less device-taint-eviction's, which is made in Run.
	if total != 67 {
		t.Errorf("%d queues are tapped", total)
	}
}

// A controller with upstream's expectations in its struct says so, and no other.
func TestExpects(t *testing.T) {
	in := newFakeInputs(t)
	for _, d := range Descriptors() {
		ctx, cancel := context.WithCancel(t.Context())
		tp := tap.New(&journal{})
		has := false
		for _, l := range newFakeWorld(t, ctx, tp, in).build(d.Name) {
			has = has || expects(reflect.TypeOf(l.target), 0)
		}
		if has != d.Expects {
			t.Errorf("%s: Expects is %t, its struct says %t", d.Name, d.Expects, has)
		}
		cancel()
		tp.Close()
	}
}

// expects reports whether a struct, or one that it embeds, has a field for expectations.
func expects(t reflect.Type, depth int) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth > 2 {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		of := f.Type
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.PkgPath() == "k8s.io/kubernetes/pkg/controller" && strings.Contains(of.Name(), "Expectations") || f.Anonymous && expects(f.Type, depth+1) {
			return true
		}
	}
	return false
}

// originals lists the fields of upstream's structs, from v on, that hold a
// queue of package workqueue.
func originals(target any) []string {
	var paths []string
	seen := map[uintptr]bool{}
	upstream := reflect.TypeFor[workqueue.Type]().PkgPath()
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Interface:
			if _, queue := v.Type().MethodByName("ShutDownWithDrain"); queue && !v.IsNil() {
				if v.Elem().Type().Elem().PkgPath() == upstream {
					paths = append(paths, path)
				}
				return
			}
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		case reflect.Pointer:
			if !v.IsNil() && !seen[v.Pointer()] && strings.HasPrefix(v.Type().Elem().PkgPath(), "k8s.io/kubernetes/pkg/controller") {
				seen[v.Pointer()] = true
				walk(v.Elem(), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."))
			}
		}
	}
	walk(reflect.ValueOf(target), "")
	// The migrator reads the garbage collector's graph and uses none of its
	// queues.
	return slices.DeleteFunc(paths, func(p string) bool {
		return strings.Contains(reflect.TypeOf(target).String(), "SVMController") && strings.HasPrefix(p, "dependencyGraphBuilder.")
	})
}

// Real controllers work through decorators of mirror types: each of the queues
// whose keys are mirrored hands out the keys its controller puts in.
func TestMirroredQueuesWork(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"}
	}
	yes := true
	owned := meta("owned")
	owned.Labels = map[string]string{"app": "web"}
	// Taint eviction deletes what is on the node at once. Nobody deletes the spare pod,
	// and only the garbage collector the dependent one.
	dependent, spare := meta("dependent"), meta("spare")
	dependent.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "absent", UID: "uid-absent", BlockOwnerDeletion: &yes}}
	orphaned := meta("orphaned")
	orphaned.Finalizers = []string{batchv1.JobTrackingFinalizer}
	orphaned.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-node", ResourceVersion: "1"},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}}}
	token := meta("token")
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "absent", corev1.ServiceAccountUIDKey: "uid-absent"}
	foreground := meta("orphaning")
	foreground.Finalizers = []string{metav1.FinalizerOrphanDependents}
	foreground.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	objects := []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		&corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
		&corev1.Pod{ObjectMeta: owned, Spec: corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{PodIP: "10.0.0.1"}},
		&corev1.Pod{ObjectMeta: dependent},
		&corev1.Pod{ObjectMeta: spare},
		&corev1.Pod{ObjectMeta: orphaned},
		&corev1.Pod{ObjectMeta: foreground},
		&corev1.Secret{ObjectMeta: token, Type: corev1.SecretTypeServiceAccountToken},
		&corev1.ServiceAccount{ObjectMeta: meta("default")},
		&node,
		&resourceapi.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "rule", UID: "uid-rule", ResourceVersion: "1"},
			Spec: resourceapi.DeviceTaintRuleSpec{Taint: resourceapi.DeviceTaint{Key: "k", Effect: resourceapi.DeviceTaintEffectNoExecute}}},
	}
	want := map[string]string{ // a key, by queue
		"garbage_collector_graph_changes":            "add Pod shop/owned",
		"garbage_collector_attempt_to_delete":        "Pod shop/dependent",
		"garbage_collector_attempt_to_orphan":        "Pod shop/orphaning",
		"resource_quota_controller_resource_changes": "delete pods shop/spare",
		"job_orphan_pod":                             "shop/orphaned",
		"serviceaccount_tokens_service":              "shop/default",
		"serviceaccount_tokens_secret":               "shop/token",
		"node_lifecycle_controller":                  "node-1",
		"node_lifecycle_controller_pods":             "shop/owned",
		"noexec_taint_node":                          "node-1",
		"noexec_taint_pod":                           "shop/owned",
		"device-taint-eviction":                      "devicetaintrule rule",
		"endpoint_pods":                              "shop/{app=web}",
		"endpoint_slice_pods":                        "shop/{app=web}",
		"cidrallocator_node":                         "node-1",
	}

	ctx, cancel := context.WithCancel(t.Context())
	j := &journal{}
	tp := tap.New(j)
	w := newFakeWorld(t, ctx, tp, newFakeInputs(t), objects...)
	for _, name := range []string{
		names.GarbageCollectorController, names.ResourceQuotaController, names.JobController, names.ServiceAccountTokenController,
		names.NodeLifecycleController, names.TaintEvictionController, names.DeviceTaintEvictionController,
		names.EndpointsController, names.EndpointSliceController, names.NodeIpamController,
	} {
		w.run(ctx, name)
	}
	w.start(ctx)
	taken := func() map[string][]string {
		keys := map[string][]string{}
		for _, e := range eventsOf[state.KeyTaken](j) {
			keys[e.Queue] = append(keys[e.Queue], e.Key)
		}
		return keys
	}
	missing := func() []string {
		keys := taken()
		var out []string
		for queue, key := range want {
			if !slices.Contains(keys[queue], key) {
				out = append(out, fmt.Sprintf("%s: %s, got %q", queue, key, keys[queue]))
			}
		}
		slices.Sort(out)
		return out
	}
	deleted := false
	soon(t, func() bool {
		left := missing()
		if len(left) == 1 && !deleted {
			// The quota controller looks at deletions only, once it has synced.
			deleted = w.client.CoreV1().Pods("shop").Delete(ctx, "spare", metav1.DeleteOptions{}) == nil
		}
		return len(left) == 0
	}, func() string { return strings.Join(missing(), "\n") })
	for _, n := range eventsOf[state.Note](j) {
		t.Errorf("%s: %s", n.Source, n.Text)
	}
	cancel()
	w.end()
}
