package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var leaseTime = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func leaseBoard() []state.LeaseStatus {
	podOf := func(namespace, name, by string) *state.LeaseHolder {
		return &state.LeaseHolder{Ref: state.Ref{Resource: "pods", Namespace: namespace, Name: name}, Node: "node-1", By: by}
	}
	list := []state.LeaseStatus{
		{Namespace: "kube-system", Name: "kube-scheduler", Class: state.LeaseOfControlPlane, Identity: "node-1_0b2c", Duration: 15, Transitions: 4,
			AcquireTime: leaseTime.Add(-48 * time.Hour), RenewTime: leaseTime.Add(-3 * time.Minute),
			Holder: podOf("kube-system", "kube-scheduler-node-1", "node name, static pod named after the lease")},
		{Namespace: "kube-system", Name: "kube-controller-manager", Class: state.LeaseOfControlPlane, Identity: "node-1_77", Duration: 15, RenewTime: leaseTime.Add(-2 * time.Second),
			Holder: &state.LeaseHolder{Ref: state.Ref{Resource: "nodes", Name: "node-1"}, Node: "node-1", By: "node name"}, Strategy: "OldestEmulationVersion"},
		{Namespace: "certs", Name: "operator", Class: state.LeaseOfWorkload, Identity: "op-1", Duration: 30, RenewTime: leaseTime, Holder: podOf("other", "op-1", "pod name, in another namespace")},
		{Namespace: "shop", Name: "evil\x1b[2J", Class: state.LeaseOfWorkload, Identity: "\x1b]0;x\x07\u202eroot\n2_1", Duration: 15, RenewTime: leaseTime},
		{Namespace: "shop", Name: "free", Class: state.LeaseOfWorkload},
		{Namespace: "shop", Name: "odd", Class: state.LeaseOfWorkload, Identity: "somebody"},
	}
	for i := range 12 {
		list = append(list, state.LeaseStatus{Namespace: "kube-node-lease", Name: fmt.Sprint("node-", i), Identity: fmt.Sprint("node-", i),
			Class: state.LeaseOfNode, Duration: 40, RenewTime: leaseTime.Add(-time.Duration(i) * 4 * time.Second)})
	}
	for i := range list {
		list[i] = list[i].At(leaseTime)
	}
	return list
}

func TestLeases(t *testing.T) {
	ages := Times{Now: leaseTime, Ages: true}
	for name, opts := range map[string]LeaseOptions{
		"terminal": {Times: ages, Namespace: true, GroupNodes: true},
		"wide":     {Times: ages, Wide: true, GroupNodes: true},
		"pipe":     {Times: Times{Now: leaseTime}, Context: true, Namespace: true, GroupNodes: true},
		"nodes":    {Times: ages, Namespace: true},
	} {
		checkGolden(t, "leases/"+name+".txt", Leases(leaseBoard(), opts).Text(TableOptions{}))
	}
}

// A kctl-ctrl that leads is not shown as the component whose lease it holds.
func TestLeasesOfThisProgram(t *testing.T) {
	for name, holder := range map[string]*state.LeaseHolder{
		"laptop (kctl-ctrl)":      nil,
		"node/laptop (kctl-ctrl)": {Ref: state.Ref{Resource: "nodes", Name: "laptop"}},
		"pod/web-1 (kctl-ctrl)":   {Ref: state.Ref{Resource: "pods", Namespace: "kube-system", Name: "web-1"}},
		"web-1 in b (kctl-ctrl)":  {Ref: state.Ref{Resource: "pods", Namespace: "b", Name: "web-1"}},
	} {
		list := []state.LeaseStatus{{Namespace: "kube-system", Name: "kube-controller-manager", Identity: "laptop_kctl-ctrl-1b2c", Holder: holder}}
		if text := Leases(list, LeaseOptions{Times: Times{Now: leaseTime}}).Text(TableOptions{}); !strings.Contains(text, name+" ") {
			t.Errorf("no %q in\n%s", name, text)
		}
	}
}

// Many expired nodes are one row with a number: the reader's clock may be at
// fault, and a screen has an end.
func TestLeasesOfManyDeadNodes(t *testing.T) {
	list := leaseBoard()
	for i := range list {
		list[i] = list[i].At(leaseTime.Add(time.Hour))
	}
	text := Leases(list, LeaseOptions{Times: Times{Now: leaseTime, Ages: true}, GroupNodes: true}).Text(TableOptions{})
	if !strings.Contains(text, "12 node leases") || !strings.Contains(text, "0 held, 12 expired") || strings.Contains(text, "node-11") {
		t.Error(text)
	}
}

func TestLeaseCandidates(t *testing.T) {
	list := []state.LeaseCandidate{
		{Context: "a", Namespace: "kube-system", Name: "kube-scheduler-1", Lease: "kube-scheduler", BinaryVersion: "1.37.1", EmulationVersion: "1.36.0", Strategy: "OldestEmulationVersion", RenewTime: leaseTime.Add(-time.Hour)},
		{Context: "a", Namespace: "kube-system", Name: "evil\u202e", Lease: "x", PingTime: leaseTime.Add(-time.Minute)},
	}
	opts := LeaseOptions{Times: Times{Now: leaseTime, Ages: true}, Context: true, Namespace: true}
	checkGolden(t, "leases/candidates.txt", LeaseCandidates(list, opts).Text(TableOptions{}))
}

func TestLeasesAreInert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := state.LeaseStatus{
			Context: anyText.Draw(t, "context"), Namespace: anyText.Draw(t, "namespace"), Name: anyText.Draw(t, "name"),
			Identity: anyText.Draw(t, "identity"), Strategy: anyText.Draw(t, "strategy"), Duration: 15, RenewTime: leaseTime,
			Holder: &state.LeaseHolder{Ref: state.Ref{Resource: "pods", Name: anyText.Draw(t, "pod")}, By: anyText.Draw(t, "by")},
		}
		opts := LeaseOptions{Times: Times{Now: leaseTime}, Wide: true, Context: true, Namespace: true, Changes: []string{anyText.Draw(t, "change")}}
		text := Leases([]state.LeaseStatus{l.At(leaseTime)}, opts).Text(TableOptions{})
		checkInert(t, text, true)
		if n := strings.Count(text, "\n"); n != 2 {
			t.Errorf("%d lines: %q", n, text)
		}
	})
}

func TestTimes(t *testing.T) {
	now := leaseTime
	for name, c := range map[string]struct{ got, want string }{
		"age":            {Times{now, true}.Since(now.Add(-192 * time.Second)), "3m12s"},
		"age of nothing": {Times{now, true}.Since(time.Time{}), NoFigure},
		"in a pipe":      {Times{now, false}.Since(now.In(time.FixedZone("x", 3600))), "2026-11-21T03:00:00Z"},
		"to come":        {Times{now, true}.Until(now.Add(12 * time.Second)), "in 12s"},
		"has come":       {Times{now, true}.Until(now.Add(-12 * time.Second)), "12s ago"},
		"to come, pipe":  {Times{now, false}.Until(now), "2026-11-21T03:00:00Z"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// A stream of tables stays straight where each has the widths of those before.
func TestTableWidths(t *testing.T) {
	first := Table{Columns: []Column{{Title: "NAME"}, {Title: "N", Right: true}}, Rows: [][]string{{"a long name", "10000"}}}
	next := Table{Columns: first.Columns, Rows: [][]string{{"b", "1"}}}
	for i, width := range first.Widths() {
		next.Columns[i].Min = width
	}
	a, b := first.Text(TableOptions{}), next.Text(TableOptions{NoHeaders: true})
	if want := "b                 1\n"; b != want || !strings.Contains(a, "a long name   10000\n") {
		t.Errorf("%q\n%q", a, b)
	}
}
