package controllers

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// seenWrite is a request as the API server's side of the client saw it.
type seenWrite struct {
	verb, resource string
	object         metav1.Object
	cause          state.Cause
}

// tracked does what the fake clientset leaves out, and notes who writes. Its
// reactor runs on the goroutine of the caller, as a transport does.
type tracked struct {
	tap *tap.Tap

	mu     sync.Mutex
	writes []seenWrite
	made   int
	refuse func(seenWrite) error
}

func (s *tracked) react(a clienttesting.Action) (bool, runtime.Object, error) {
	w := seenWrite{verb: a.GetVerb(), resource: a.GetResource().Resource, cause: s.tap.Cause()}
	switch a := a.(type) {
	case clienttesting.CreateActionImpl:
		w.object, _ = a.Object.(metav1.Object)
	case clienttesting.UpdateActionImpl:
		w.object, _ = a.Object.(metav1.Object)
	default:
		return false, nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, w)
	if err := s.refuse(w); err != nil {
		return true, nil, err
	}
	s.made++
	s.tap.CountWrite(w.cause)
	if w.verb == "create" {
		if w.object.GetName() == "" {
			w.object.SetName(w.object.GetGenerateName() + strconv.Itoa(s.made))
		}
		w.object.SetUID(types.UID("uid-" + strconv.Itoa(s.made)))
	}
	w.object.SetResourceVersion(strconv.Itoa(1000 + s.made))
	return false, nil, nil
}

// timed is a journal that dates its events.
type timed struct {
	mu      sync.Mutex
	entries []state.Entry
}

func (j *timed) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, state.Entry{Seq: uint64(len(j.entries) + 1), At: time.Now(), Event: e})
}

func webDeployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 1, ResourceVersion: "1"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		},
	}
}

// With five workers each, the real deployment and replicaset controllers roll
// out many deployments, one of them with trouble. Every write is attributed to
// the key it was made for, those of upstream's parallel batches too; retries
// come when the journal says.
func TestDeploymentsRollOut(t *testing.T) {
	const deployments, replicas, failures = 20, 10, 4
	in := newFakeInputs(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		j := &timed{}
		tp := tap.New(j)
		ctx = klog.NewContext(ctx, tp.Logger(logr.Discard()))
		// Upstream's own sleep until a millisecond after the last error of the process:
		// in a bubble, whose clock starts in 2000, that takes decades.
		before := utilruntime.ErrorHandlers
		utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{tp.ErrorHandler}
		defer func() { utilruntime.ErrorHandlers = before }()
		w := newFakeWorld(t, ctx, tp, in)
		refused := 0
		s := &tracked{tap: tp, refuse: func(w seenWrite) error {
			if w.resource == "replicasets" && w.verb == "create" && w.object.GetLabels()["app"] == "web-0" && refused < failures {
				refused++
				return errors.New("no room for replicasets")
			}
			return nil
		}}
		w.client.PrependReactor("*", "*", s.react)

		for _, name := range []string{names.DeploymentController, names.ReplicaSetController} {
			w.run(ctx, name)
		}
		w.start(ctx)
		for i := range deployments {
			if _, err := w.client.AppsV1().Deployments("shop").Create(ctx, webDeployment("web-"+strconv.Itoa(i), replicas), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if a := tp.Activity(); len(a.Moving()) > 0 {
			t.Errorf("not at rest after a minute: %q", a.Moving())
		}

		pods := checkWrites(t, s.writes)
		if pods != deployments*replicas {
			t.Errorf("%d pods were created, want %d", pods, deployments*replicas)
		}
		checkRetries(t, j.entries, failures)
		checkCauses(t, j.entries)

		cancel()
		w.end()
	})
}

// checkWrites compares each write's cause with what the written object says.
func checkWrites(t *testing.T, writes []seenWrite) (pods int) {
	t.Helper()
	replicaSets := 0
	for _, w := range writes {
		var want state.Cause
		switch {
		case w.resource == "deployments" && w.verb == "create": // the test itself
			want = state.Cause{Kind: state.CauseUnknown}
		case w.resource == "events":
			// The broadcaster's goroutine works on no key.
			want = state.Cause{Kind: state.CauseTimer, Controller: w.cause.Controller}
		default:
			want = state.Cause{Kind: state.CauseSync, Sync: w.cause.Sync}
			owner := metav1.GetControllerOfNoCopy(w.object)
			switch {
			case w.resource == "pods":
				pods++
				want.Controller, want.Queue, want.Key = names.ReplicaSetController, "replicaset", "shop/"+owner.Name
			case w.resource == "replicasets" && w.cause.Queue == "deployment":
				replicaSets++
				want.Controller, want.Queue, want.Key = names.DeploymentController, "deployment", "shop/"+owner.Name
			case w.resource == "replicasets":
				want.Controller, want.Queue, want.Key = names.ReplicaSetController, "replicaset", "shop/"+w.object.GetName()
			default:
				want.Controller, want.Queue, want.Key = names.DeploymentController, "deployment", "shop/"+w.object.GetName()
			}
		}
		if w.cause != want {
			t.Errorf("%s %s %s:\n got %+v\nwant %+v", w.verb, w.resource, w.object.GetName(), w.cause, want)
		}
	}
	if replicaSets == 0 {
		t.Error("no replicaset was written by a deployment's sync")
	}
	return pods
}

// checkRetries follows the deployment in trouble: each failed sync says why
// and is retried at the time the rate limiter gave, which doubles until the key
// is forgotten. Either controller may fail and retry on its own as well, while
// its cache is older than what it wrote: after AlreadyExists the deployment
// controller looks for its ReplicaSet in its cache (getNewReplicaSet).
func checkRetries(t *testing.T, entries []state.Entry, failures int) {
	t.Helper()
	const inTrouble = "shop/web-0"
	const base = 5 * time.Millisecond
	retries := map[string]int{}
	due := map[string]time.Time{}
	refused, writes := 0, 0
	for _, e := range entries {
		switch event := e.Event.(type) {
		case state.KeyAdded:
			if event.Controller != names.DeploymentController || event.How != "AddRateLimited" {
				continue
			}
			delay := base << retries[event.Key]
			retries[event.Key]++
			if event.Delay != delay || event.Retries != retries[event.Key] || event.Cause.Kind != state.CauseSync || event.Cause.Key != event.Key || !event.Due.Equal(e.At.Add(delay)) {
				t.Errorf("retry %d after %v: %+v at %v", retries[event.Key], delay, event, e.At)
			}
			due[event.Key] = event.Due
		case state.KeyReady:
			if event.Controller == names.DeploymentController && !e.At.Equal(due[event.Key]) {
				t.Errorf("%s ready at %v, due at %v", event.Key, e.At, due[event.Key])
			}
		case state.KeyFinished:
			if event.Controller != names.DeploymentController {
				continue
			}
			writes += event.Writes
			switch {
			case !event.Failed:
			case event.Error == "no room for replicasets" && event.Key == inTrouble:
				refused++
			case strings.HasSuffix(event.Error, "not found"):
			default:
				t.Errorf("failed: %+v", event)
			}
		case state.KeyForgotten:
			if event.Controller != names.DeploymentController {
				continue
			}
			if event.Retries != retries[event.Key] {
				t.Errorf("forgotten after %d retries: %+v", retries[event.Key], event)
			}
			delete(retries, event.Key)
		}
	}
	if refused != failures {
		t.Errorf("%d syncs of %s failed for want of room, want %d", refused, inTrouble, failures)
	}
	if len(retries) > 0 {
		t.Errorf("retries were not forgotten: %v", retries)
	}
	if writes == 0 {
		t.Error("no write was counted")
	}
}

// checkCauses looks at where the syncs come from.
func checkCauses(t *testing.T, entries []state.Entry) {
	t.Helper()
	kinds := map[string]int{}
	for _, e := range entries {
		taken, ok := e.Event.(state.KeyTaken)
		if !ok {
			continue
		}
		c := taken.Cause
		switch c.Kind {
		case state.CauseEvent:
			kinds[taken.Queue+" by "+c.Object.Resource]++
			if c.Controller != taken.Controller || c.NewRV == "" {
				t.Errorf("%s: %+v", taken.Key, c)
			}
		case state.CauseSync:
			kinds[taken.Queue+" by itself"]++
			if c.Key != taken.Key {
				t.Errorf("%s: %+v", taken.Key, c)
			}
		default:
			t.Errorf("%s: %+v", taken.Key, c)
		}
	}
	for _, want := range []string{"deployment by deployments", "deployment by replicasets", "deployment by itself", "replicaset by replicasets", "replicaset by pods"} {
		if kinds[want] == 0 {
			t.Errorf("no sync of %s: %v", want, kinds)
		}
	}
}
