package layouttest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	serviceaccountapi "k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Upstream's default handlers sleep until a millisecond after the last error
// of the process: in a synctest bubble, whose clock starts in 2000, that takes
// decades.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// noTokens signs nothing.
type noTokens struct {
	serviceaccountapi.TokenGenerator
}

// journal is a Recorder that keeps what it is given.
type journal struct {
	mu     sync.Mutex
	events []state.Event
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func of[E state.Event](j *journal) []E {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []E
	for _, e := range j.events {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// within waits until condition holds.
func within(t *testing.T, d time.Duration, condition func() bool, what func() string) {
	t.Helper()
	for deadline := time.Now().Add(d); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what())
		}
	}
}

// Every queue of every controller of the release is found, its keys have the
// layout that the mirror says, and no field is left with an original.
func TestSpecsFindEveryQueue(t *testing.T) {
	built := builders()
	if len(built) != 49 {
		t.Errorf("%d controllers are built here, upstream has 49", len(built))
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(built)) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tp := tap.New(&journal{})
			defer tp.Close()
			w := newWorld(t, ctx, tp).as(tp, name)
			for loopName, l := range built[name](w) {
				if err := attach(tp, name, loopName, l.target); err != nil {
					t.Fatal(err)
				}
				for _, path := range originals(l.target) {
					t.Errorf("%s of %T is not tapped", path, l.target)
				}
			}
			total += len(tp.Queues(name))
		})
	}
	// Less device-taint-eviction's, which is made in Run.
	if total != 67 {
		t.Errorf("%d queues are tapped", total)
	}
}

// attach attaches what the descriptor of a controller lists for one of its loops.
func attach(tp *tap.Tap, controller, loop string, target any) error {
	all := controllers.Descriptors()
	i := slices.IndexFunc(all, func(d controllers.Descriptor) bool { return d.Name == controller })
	if i < 0 {
		return fmt.Errorf("there is no controller %s", controller)
	}
	specs, err := all[i].Specs(loop)
	if err != nil {
		return err
	}
	return tp.Attach(controller, target, specs...)
}

// What is built here are the controllers and loops that the descriptors have.
func TestEveryLoopIsBuilt(t *testing.T) {
	built := builders()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, d := range controllers.Descriptors() {
		build, ok := built[d.Name]
		if !ok {
			t.Errorf("%s is not built here: add it to builders", d.Name)
			continue
		}
		delete(built, d.Name)
		tp := tap.New(&journal{})
		defer tp.Close()
		got := slices.Sorted(maps.Keys(build(newWorld(t, ctx, tp).as(tp, d.Name))))
		if want := slices.Sorted(slices.Values(d.Loops())); !slices.Equal(got, want) {
			t.Errorf("%s: loops %q are built, its descriptor has %q", d.Name, got, want)
		}
	}
	for name := range built {
		t.Errorf("%s has no descriptor", name)
	}
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
	base := newWorld(t, ctx, tp, objects...)
	var running sync.WaitGroup
	built := builders()
	for _, name := range []string{
		names.GarbageCollectorController, names.ResourceQuotaController, names.JobController, names.ServiceAccountTokenController,
		names.NodeLifecycleController, names.TaintEvictionController, names.DeviceTaintEvictionController,
		names.EndpointsController, names.EndpointSliceController, names.NodeIpamController,
	} {
		w := base.as(tp, name)
		for loopName, l := range built[name](w) {
			if err := attach(tp, name, loopName, l.target); err != nil {
				t.Fatal(err)
			}
			running.Go(func() { tp.Run(ctx, name, l.run) })
		}
	}
	base.all.Start(ctx.Done())
	close(base.started)
	taken := func() map[string][]string {
		keys := map[string][]string{}
		for _, e := range of[state.KeyTaken](j) {
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
	within(t, 60*time.Second, func() bool {
		left := missing()
		if len(left) == 1 && !deleted {
			// The quota controller looks at deletions only, once it has synced.
			deleted = base.client.CoreV1().Pods("shop").Delete(ctx, "spare", metav1.DeleteOptions{}) == nil
		}
		return len(left) == 0
	}, func() string { return strings.Join(missing(), "\n") })
	for _, n := range of[state.Note](j) {
		t.Errorf("%s: %s", n.Source, n.Text)
	}
	cancel()
	running.Wait()
	base.Shutdown()
	tp.Close()
}
