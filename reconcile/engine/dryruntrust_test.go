package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

// Groups of CustomResourceDefinitions honour dryRun; a group of which any
// version comes from an aggregated API server may not.
func TestTrustedGroups(t *testing.T) {
	trusts, err := trustedGroups([]byte(`{"items":[
		{"spec":{"group":"","version":"v1"}},
		{"spec":{"group":"apps","version":"v1"}},
		{"spec":{"group":"shop.example","version":"v1"}},
		{"spec":{"group":"metrics.k8s.io","version":"v1beta1","service":{"name":"metrics-server"}}},
		{"spec":{"group":"mixed.example","version":"v1","service":{"name":"mixed"}}},
		{"spec":{"group":"mixed.example","version":"v2"}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]bool{
		"": true, "apps": true, "shop.example": true, "metrics.k8s.io": false, "mixed.example": false, "unknown.example": false,
	} {
		if trusts(group) != want {
			t.Errorf("group %q: trusted %v, want %v", group, !want, want)
		}
	}
	if _, err := trustedGroups([]byte("<html>")); err == nil {
		t.Error("an answer that is no list was accepted")
	}
}

// A group that an aggregated API server takes over while loops run dry is not trusted
// for long, and one that nobody tells of not at all.
func TestTrustGrowsOld(t *testing.T) {
	const mine, later = "shop.example", "later.example"
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	asked, local, failing := 0, map[string]bool{"": true, mine: true}, false
	trust := &dryRunTrust{now: func() time.Time { return now }, read: func(context.Context) (func(string) bool, error) {
		asked++
		if failing {
			return nil, errors.New("not now")
		}
		said := local
		return func(group string) bool { return said[group] }, nil
	}}
	if err := trust.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect := func(when string, reads int, want map[string]bool) {
		t.Helper()
		for group, trusted := range want {
			if trust.trusts(group) != trusted {
				t.Errorf("%s: group %q: trusted %v", when, group, !trusted)
			}
		}
		if asked != reads {
			t.Errorf("%s: asked %d times, want %d", when, asked, reads)
		}
	}
	expect("at first", 1, map[string]bool{"": true, mine: true, later: false})
	local = map[string]bool{"": true, mine: false, later: true}
	now = now.Add(trustFor - 1)
	expect("soon", 1, map[string]bool{mine: true, later: false})
	now = now.Add(1)
	expect("then", 2, map[string]bool{mine: false, later: true})
	failing = true
	now = now.Add(trustFor)
	expect("unanswered", 3, map[string]bool{"": true, mine: false, later: false, "apps": request.BuiltinGroup("apps")})
	failing = false
	now = now.Add(trustFor)
	expect("answered again", 4, map[string]bool{mine: false, later: true})
	now = now.Add(-time.Hour)
	expect("set back", 5, map[string]bool{mine: false, later: true})
}
