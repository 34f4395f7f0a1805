package leases

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// following is a Follow under way, with the watches that it has begun.
type following struct {
	client  *fake.Clientset
	watches chan *watch.FakeWatcher
	changes chan string
	lost    chan error
	ended   chan error
	expiry  chan time.Time
	cancel  context.CancelFunc
}

// follow begins to follow op and other, held since start by a and b. fail, where
// it is given, answers the first watches.
func follow(t *testing.T, fail ...error) *following {
	t.Helper()
	op, other := object("shop", "op", "a"), object("shop", "other", "b")
	op.ResourceVersion, other.ResourceVersion = "1", "1"
	f := &following{
		client: fake.NewClientset(op, other), watches: make(chan *watch.FakeWatcher, 8), changes: make(chan string, 8),
		lost: make(chan error, 8), ended: make(chan error, 1), expiry: make(chan time.Time),
	}
	f.client.PrependWatchReactor("leases", func(clienttesting.Action) (bool, watch.Interface, error) {
		if len(fail) > 0 {
			err := fail[0]
			fail = fail[1:]
			return true, nil, err
		}
		w := watch.NewFakeWithChanSize(8, false)
		f.watches <- w
		return true, w, nil
	})
	reader := NewReader(f.client)
	listed, version, err := reader.List(context.Background(), Query{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	now := start
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	t.Cleanup(cancel)
	go func() {
		f.ended <- reader.Follow(ctx, Query{Namespace: "shop"}, listed, version, FollowOptions{
			Now: func() time.Time { return now },
			After: func(d time.Duration) <-chan time.Time {
				if d <= retryAfter {
					return time.After(time.Millisecond)
				}
				expiry := make(chan time.Time)
				go func() {
					select {
					case <-f.expiry:
						now = now.Add(d)
						close(expiry)
					case <-ctx.Done():
					}
				}()
				return expiry
			},
			Lost: func(err error) { f.lost <- err },
		}, func(change Change) error {
			f.changes <- fmt.Sprintf("%s %s", change.Lease.Name, change.What)
			if change.Lease.Identity == "stop" {
				return errors.New("enough")
			}
			return nil
		})
	}()
	return f
}

// next receives, and fails where nothing comes.
func next[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(10 * time.Second):
		t.Fatalf("no %T came", v)
	}
	return v
}

func expect(t *testing.T, from <-chan string, want string) {
	t.Helper()
	if got := next(t, from); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFollow(t *testing.T) {
	f := follow(t)
	w := next(t, f.watches)
	taken := object("shop", "op", "c")
	taken.ResourceVersion = "2"
	w.Modify(taken)
	expect(t, f.changes, "op taken over from a")
	fresh := object("shop", "fresh", "d")
	fresh.ResourceVersion = "3"
	w.Add(fresh)
	expect(t, f.changes, "fresh created, held")
	w.Delete(fresh)
	expect(t, f.changes, "fresh deleted")
	f.cancel()
	if err := next(t, f.ended); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// What is missed between two watches is found by the list between them. A watch
// that the server ends is not worth a word.
func TestFollowGoesOn(t *testing.T) {
	f := follow(t)
	w := next(t, f.watches)
	missed := object("shop", "op", "c")
	missed.ResourceVersion = "7"
	missed.Spec.LeaseTransitions = ptr.To[int32](3)
	leases := f.client.CoordinationV1().Leases("shop")
	if _, err := leases.Update(context.Background(), missed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := leases.Delete(context.Background(), "other", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Stop()
	expect(t, f.changes, "op taken over from a")
	expect(t, f.changes, "other deleted")
	next(t, f.watches)
	if len(f.lost) > 0 {
		t.Errorf("lost: %v", <-f.lost)
	}
}

func TestFollowErrors(t *testing.T) {
	down := errors.New("connection refused")
	f := follow(t, down)
	if err := next(t, f.lost); !errors.Is(err, down) {
		t.Errorf("lost: %v", err)
	}
	w := next(t, f.watches)
	gone := apierrors.NewResourceExpired("too old").Status()
	w.Error(&gone)
	w = next(t, f.watches)
	if len(f.lost) > 0 {
		t.Errorf("an old version is told: %v", <-f.lost)
	}
	last := object("shop", "op", "stop")
	last.ResourceVersion = "9"
	w.Modify(last)
	if err := next(t, f.ended); err == nil || err.Error() != "enough" {
		t.Errorf("ended with %v", err)
	}

	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("no"))
	f = follow(t, refusal)
	if err := next(t, f.ended); !apierrors.IsForbidden(err) {
		t.Errorf("ended with %v", err)
	}
}

// A server that goes away ends the watch without a word: the list tells, once.
func TestFollowServerGone(t *testing.T) {
	f := follow(t)
	w := next(t, f.watches)
	lists := 0
	f.client.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lists++; lists < 4 {
			return true, nil, errors.New("connection refused")
		}
		return false, nil, nil
	})
	w.Stop()
	next(t, f.watches)
	if n := len(f.lost); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// Nobody writes that a lease expires.
func TestFollowExpiry(t *testing.T) {
	f := follow(t)
	next(t, f.watches)
	f.expiry <- time.Time{}
	expect(t, f.changes, "op expired")
	expect(t, f.changes, "other expired")
}
