package seen

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func pod(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version}}
}

func TestMark(t *testing.T) {
	var mark Mark
	if mark.Reached("1") {
		t.Error("a fresh mark has reached 1")
	}
	if !mark.Reached("") {
		t.Error("a version that cannot be compared is waited for")
	}
	inside := true
	h := mark.Handler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		inside = mark.Reached("7")
	}}, nil)
	h.OnAdd(pod("7"), true)
	if inside {
		t.Error("the mark rose before the handler returned")
	}
	h.OnAdd(pod("5"), true) // a list is in any order
	for version, want := range map[string]bool{"5": true, "7": true, "8": false, "10": false} {
		if got := mark.Reached(version); got != want {
			t.Errorf("after 7: %s reached is %v", version, got)
		}
	}
	h.OnUpdate(pod("7"), pod("10"))
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "p", Obj: pod("12")})
	if !mark.Reached("12") {
		t.Error("a deletion did not raise the mark")
	}
}

func TestMarkWait(t *testing.T) {
	var mark Mark
	h := mark.Handler(cache.ResourceEventHandlerFuncs{}, nil)
	reached := make(chan error)
	go func() { reached <- mark.Wait(t.Context(), "3") }()
	for _, version := range []string{"1", "2", "3"} {
		h.OnAdd(pod(version), false)
	}
	if err := <-reached; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := mark.Wait(ctx, "4"); err == nil {
		t.Error("4 was reached")
	}
}
