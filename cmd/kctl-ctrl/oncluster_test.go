package main

import "testing"

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
