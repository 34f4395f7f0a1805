package nodes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// stageDoc is a stage from one phase to the next after a delay.
func stageDoc(name, from, to, delayMilliseconds string) string {
	return `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ` + name + `}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.status.phase', operator: 'In', values: ['` + from + `']}
  delay: {durationMilliseconds: ` + delayMilliseconds + `}
  next:
    statusTemplate: 'phase: ` + to + `'
`
}

// stand is a player over a store of one pod, "n/p". A patch moves the pod on at
// the server; deliver brings the server's pod to the store, as an event.
type stand struct {
	*player[*corev1.Pod]
	mu       sync.Mutex
	server   *corev1.Pod
	store    *corev1.Pod
	patches  int
	errs     []error // of the next patches
	warnings []string
	turns    int    // from idle to busy and back
	during   func() // called in a patch, before it is carried out
}

// runPlayer runs test with a player of the stages in a bubble of fake time.
func runPlayer(t *testing.T, docs []string, test func(*stand)) {
	t.Helper()
	stages, err := parse(docs...)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &stand{server: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", ResourceVersion: "1"},
			Status:     corev1.PodStatus{Phase: corev1.PodPending},
		}}
		s.player = &player[*corev1.Pod]{
			kind: "pod", stages: stages, renderer: gotpl.NewRenderer(nil),
			get: func(string) (*corev1.Pod, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.store, s.store != nil
			},
			idle:  func(*corev1.Pod) bool { return false },
			patch: s.carryOut,
			warn: func(text string) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.warnings = append(s.warnings, text)
			},
			changed: func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.turns++
			},
		}
		s.init(clock.RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.run(ctx, 2) })
		test(s)
		cancel()
		wg.Wait()
	})
}

func (s *stand) carryOut(_ context.Context, _ *corev1.Pod, patch *lifecycle.Patch) (*corev1.Pod, error) {
	s.mu.Lock()
	during := s.during
	s.mu.Unlock()
	if during != nil {
		during()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patches++
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, err
	}
	phase := corev1.PodPhase(strings.Trim(strings.TrimPrefix(string(patch.Data), `{"status":{"phase":`), `"}`))
	if phase != s.server.Status.Phase {
		s.server = s.server.DeepCopy()
		s.server.Status.Phase = phase
		version, _ := strconv.Atoi(s.server.ResourceVersion)
		s.server.ResourceVersion = strconv.Itoa(version + 1)
	}
	return s.server, nil
}

func (s *stand) deliver() {
	s.mu.Lock()
	s.store = s.server
	obj := s.store
	s.mu.Unlock()
	s.handler().(cache.ResourceEventHandlerFuncs).OnAdd(obj, false)
	synctest.Wait()
}

// again is an event that brings nothing new.
func (s *stand) again() {
	s.mu.Lock()
	obj := s.store
	s.mu.Unlock()
	s.handler().OnUpdate(obj, obj)
	synctest.Wait()
}

func (s *stand) expect(t *testing.T, when string, patches int, busy ...string) {
	t.Helper()
	s.mu.Lock()
	got := s.patches
	s.mu.Unlock()
	if got != patches {
		t.Errorf("%s: %d patches, want %d", when, got, patches)
	}
	if reasons := s.reasons(9); !slices.Equal(reasons, busy) {
		t.Errorf("%s: busy with %q, want %q", when, reasons, busy)
	}
}

func TestPlayerIsBusyUntilItsWriteComesBack(t *testing.T) {
	runPlayer(t, []string{stageDoc("begin", "Pending", "Running", "0")}, func(s *stand) {
		const awaits = "pod n/p: stage begin was applied, waiting for its watch event"
		s.deliver()
		s.expect(t, "after the stage", 1, awaits)
		s.again()
		s.again()
		s.mu.Lock()
		outdated := s.patches
		s.mu.Unlock()
		if outdated != 1 {
			t.Errorf("an outdated copy was played: %d patches", outdated)
		}
		s.deliver()
		s.expect(t, "after its event", 1)
	})
}

func TestPlayerRestsWhenAPatchChangesNothing(t *testing.T) {
	runPlayer(t, []string{stageDoc("stay", "Pending", "Pending", "0")}, func(s *stand) {
		s.deliver()
		s.expect(t, "after the stage", 1)
	})
}

func TestPlayerLooksAgainAfterAnEventDuringALook(t *testing.T) {
	runPlayer(t, []string{stageDoc("stay", "Pending", "Pending", "0")}, func(s *stand) {
		once := sync.OnceFunc(func() { s.handler().OnUpdate(s.server, s.server) })
		s.during = once
		s.deliver()
		s.expect(t, "after both looks", 2)
		if s.turns != 2 {
			t.Errorf("%d turns between idle and busy, want one each way: the player was idle between the looks", s.turns)
		}
	})
}

func TestPlayerDelays(t *testing.T) {
	runPlayer(t, []string{stageDoc("begin", "Pending", "Running", "2000")}, func(s *stand) {
		s.deliver()
		s.expect(t, "at first", 0, "pod n/p: stage begin is due in 2s")
		time.Sleep(1500 * time.Millisecond)
		s.again() // does not begin the delay anew
		s.expect(t, "later", 0, "pod n/p: stage begin is due in 500ms")
		time.Sleep(499 * time.Millisecond)
		synctest.Wait()
		s.expect(t, "just before", 0, "pod n/p: stage begin is due in 500ms")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		s.deliver()
		s.expect(t, "at last", 1)
	})
}

func TestPlayerDoesNotCountDistantStages(t *testing.T) {
	runPlayer(t, []string{stageDoc("heartbeat", "Pending", "Running", "600000")}, func(s *stand) {
		s.deliver()
		s.expect(t, "at first", 0)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s.deliver()
		s.expect(t, "ten minutes later", 1)
	})
}

func TestPlayerRetries(t *testing.T) {
	runPlayer(t, []string{stageDoc("begin", "Pending", "Running", "0")}, func(s *stand) {
		s.errs = []error{errors.New("no way"), errors.New("no way"), errors.New("no way")}
		s.deliver()
		s.expect(t, "after a failure", 1, "pod n/p: stage begin failed: failed to patch resource for step no way")
		time.Sleep(time.Second)
		synctest.Wait()
		s.deliver()
		s.expect(t, "after some more", 4)
		if len(s.warnings) != 1 {
			t.Errorf("warnings %q, want one", s.warnings)
		}
	})
}
