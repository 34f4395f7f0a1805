package leases

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var start = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func object(namespace, name, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](15), LeaseTransitions: ptr.To[int32](2),
			RenewTime: &metav1.MicroTime{Time: start},
		},
	}
}

func TestList(t *testing.T) {
	identity := object("kube-system", "apiserver-x", "apiserver-x_1")
	identity.Labels = map[string]string{identityLabel: "kube-apiserver", "kubernetes.io/hostname": "node-1"}
	reader := NewReader(fake.NewClientset(
		object("shop", "op", "web-1"), object("shop", "other", "web-2"), object("kube-system", "kube-scheduler", "node-1_x"),
		object("shop", "kube-scheduler", "mine"), identity, object(NodeNamespace, "node-1", "node-1"),
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bare"}},
	))
	list := func(q Query) []string {
		found, _, err := reader.List(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, l := range found {
			names = append(names, l.Namespace+"/"+l.Name+" "+string(l.Class))
		}
		slices.Sort(names)
		return names
	}
	check := func(q Query, want ...string) {
		t.Helper()
		if got := list(q); !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	check(Query{},
		"kube-node-lease/node-1 node", "kube-system/apiserver-x control-plane", "kube-system/kube-scheduler control-plane",
		"shop/bare workload", "shop/kube-scheduler workload", "shop/op workload", "shop/other workload")
	check(Query{Namespace: "shop", Names: []string{"op", "none", "other"}}, "shop/op workload", "shop/other workload")
	found, _, err := reader.List(context.Background(), Query{Namespace: "shop", Names: []string{"op"}})
	if err != nil {
		t.Fatal(err)
	}
	want := state.LeaseStatus{
		Namespace: "shop", Name: "op", Class: state.LeaseOfWorkload, Identity: "web-1", Duration: 15, Transitions: 2, RenewTime: start,
	}
	found[0].ResourceVersion = ""
	if len(found) != 1 || found[0] != want {
		t.Errorf("%+v\nwant %+v", found, want)
	}
	if missing := Missing(Query{Names: []string{"op", "none"}}, found); !slices.Equal(missing, []string{"none"}) {
		t.Errorf("missing: %q", missing)
	}
}

func TestCandidates(t *testing.T) {
	beta := &coordinationv1beta1.LeaseCandidate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "a"},
		Spec:       coordinationv1beta1.LeaseCandidateSpec{LeaseName: "kube-scheduler", BinaryVersion: "1.37.0", Strategy: coordinationv1.OldestEmulationVersion},
	}
	alpha := &coordinationv1alpha2.LeaseCandidate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "b"},
		Spec:       coordinationv1alpha2.LeaseCandidateSpec{LeaseName: "kube-scheduler", BinaryVersion: "1.36.0"},
	}
	for name, c := range map[string]struct {
		unserved []string
		query    Query
		want     string
	}{
		"newest version":         {nil, Query{}, "a 1.37.0"},
		"older version":          {[]string{"v1beta1"}, Query{}, "b 1.36.0"},
		"none served":            {[]string{"v1beta1", "v1alpha2"}, Query{}, ""},
		"of another lease":       {nil, Query{Names: []string{"x"}}, ""},
		"of the lease asked for": {nil, Query{Names: []string{"kube-scheduler"}}, "a 1.37.0"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(beta, alpha)
			client.PrependReactor("list", "leasecandidates", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if slices.Contains(c.unserved, action.GetResource().Version) {
					return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
				}
				return false, nil, nil
			})
			got, err := NewReader(client).Candidates(context.Background(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, candidate := range got {
				text += candidate.Name + " " + candidate.BinaryVersion
			}
			if text != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

func TestSort(t *testing.T) {
	list := []state.LeaseStatus{
		{Name: "node", Class: state.LeaseOfNode}, {Name: "b", Class: state.LeaseOfWorkload}, {Name: "a", Class: state.LeaseOfWorkload},
		{Name: "dead-node", Class: state.LeaseOfNode, State: state.LeaseExpired}, {Name: "kcm", Class: state.LeaseOfControlPlane},
		{Name: "dead", Class: state.LeaseOfWorkload, State: state.LeaseExpired}, {Name: "dead-kcm", Class: state.LeaseOfControlPlane, State: state.LeaseExpired},
		{Name: "other", Context: "z", Class: state.LeaseOfWorkload},
	}
	Sort(list)
	var got []string
	for _, l := range list {
		got = append(got, l.Name)
	}
	if want := []string{"dead-kcm", "dead", "dead-node", "kcm", "a", "b", "other", "node"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// at is a lease as it stands some time after start.
func at(version, holder string, renewed time.Duration, change ...func(*state.LeaseStatus)) state.LeaseStatus {
	l := state.LeaseStatus{Namespace: "shop", Name: "op", Identity: holder, Duration: 15, RenewTime: start.Add(renewed), ResourceVersion: version}
	for _, c := range change {
		c(&l)
	}
	return l
}

func TestTracker(t *testing.T) {
	for name, c := range map[string]struct {
		before  state.LeaseStatus
		after   state.LeaseStatus
		deleted bool
		now     time.Duration
		want    string
		renewal bool
		state   state.LeaseState
	}{
		"renewed":       {at("1", "a", 0), at("2", "a", 2*time.Second), false, 3 * time.Second, "renewed", true, state.LeaseHeld},
		"taken over":    {at("1", "a", 0), at("2", "b", 20*time.Second), false, 20 * time.Second, "taken over from a", false, state.LeaseHeld},
		"released":      {at("1", "a", 0), at("2", "", 0), false, time.Second, "released by a", false, state.LeaseFree},
		"acquired":      {at("1", "", 0), at("2", "a", 0), false, time.Second, "acquired", false, state.LeaseHeld},
		"too late":      {at("1", "a", -time.Minute), at("2", "a", 0), false, time.Second, "held, was expired", false, state.LeaseHeld},
		"from the past": {at("1", "a", 0), at("2", "a", -time.Minute), false, time.Second, "expired, was held", false, state.LeaseExpired},
		"again":         {at("1", "a", 0), at("2", "a", 0, func(l *state.LeaseStatus) { l.Transitions++ }), false, 0, "reacquired", false, state.LeaseHeld},
		"labelled":      {at("1", "a", 0), at("2", "a", 0), false, 0, "touched", true, state.LeaseHeld},
		"seen before":   {at("1", "a", 0), at("1", "a", 0), false, 0, "", false, ""},
		"deleted":       {at("1", "a", 0), at("2", "a", 0), true, 0, "deleted", false, state.LeaseHeld},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTracker([]state.LeaseStatus{c.before}, start)
			got, some := tr.see(c.after, c.deleted, start.Add(c.now))
			if got.What != c.want || got.Renewal != c.renewal || some != (c.want != "") || got.Lease.State != c.state || got.Deleted != c.deleted {
				t.Errorf("%+v (%v)", got, some)
			}
		})
	}
}

// A lease that is not renewed changes without a write, once.
func TestTrackerExpires(t *testing.T) {
	tr := newTracker([]state.LeaseStatus{at("1", "a", 0), {Namespace: "shop", Name: "free"}}, start)
	if due, some := tr.next(); !some || !due.Equal(start.Add(15*time.Second)) {
		t.Errorf("next at %v (%v)", due, some)
	}
	if early := tr.expire(start.Add(14 * time.Second)); len(early) > 0 {
		t.Errorf("too early: %+v", early)
	}
	late := tr.expire(start.Add(15 * time.Second))
	if len(late) != 1 || late[0].What != "expired" || late[0].Lease.State != state.LeaseExpired {
		t.Errorf("%+v", late)
	}
	if again := tr.expire(start.Add(time.Hour)); len(again) > 0 {
		t.Errorf("again: %+v", again)
	}
	if due, some := tr.next(); some {
		t.Errorf("still waits for %v", due)
	}
}

// After a gap in the watch, the difference of the lists tells what was missed.
func TestTrackerReplace(t *testing.T) {
	other := func(l *state.LeaseStatus) { l.Name = "other" }
	third := func(l *state.LeaseStatus) { l.Name = "third" }
	tr := newTracker([]state.LeaseStatus{at("1", "a", 0), at("1", "b", 0, other)}, start)
	changes := tr.replace([]state.LeaseStatus{at("9", "c", time.Second), at("8", "d", time.Second, third)}, start.Add(time.Second))
	var got []string
	for _, c := range changes {
		got = append(got, c.Lease.Name+" "+c.What)
	}
	if want := []string{"op taken over from a", "other deleted", "third created, held"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(tr.leases) != 2 {
		t.Errorf("%d leases are known", len(tr.leases))
	}
}

func TestClock(t *testing.T) {
	for name, c := range map[string]struct {
		date   string
		offset time.Duration
	}{
		"right":        {start.Add(2 * time.Second).Format(http.TimeFormat), 0},
		"we are late":  {start.Add(40 * time.Second).Format(http.TimeFormat), 40 * time.Second},
		"we are early": {start.Add(-time.Hour).Format(http.TimeFormat), -time.Hour},
		"no date":      {"", 0},
		"no such date": {"yesterday", 0},
	} {
		t.Run(name, func(t *testing.T) {
			clock := NewClock(func() time.Time { return start })
			server := roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{Header: http.Header{"Date": {c.date}}}, nil
			})
			if _, err := clock.Wrap(server).RoundTrip(&http.Request{}); err != nil {
				t.Fatal(err)
			}
			if clock.Offset() != c.offset || !clock.Now().Equal(start.Add(c.offset)) {
				t.Errorf("offset %v, want %v", clock.Offset(), c.offset)
			}
		})
	}
}

func TestHost(t *testing.T) {
	for identity, want := range map[string]string{
		"node-1_0b2c": "node-1", "web-1": "web-1", "a_b_c": "a", "": "", "_x": "",
	} {
		if got := Host(identity); got != want {
			t.Errorf("%q: %q, want %q", identity, got, want)
		}
	}
}
