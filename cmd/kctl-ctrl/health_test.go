package main

import (
	"net/http"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/run"
)

// A controller is found by any of its names, whichever of them its check bears.
func TestCheckCalled(t *testing.T) {
	ok := func(*http.Request) error { return nil }
	checks := map[string]func(*http.Request) error{"deployment-controller": ok, "endpointslice": ok, "garbage-collector-controller": ok}
	for called, want := range map[string]string{
		"deployment": "deployment-controller", "deployment-controller": "deployment-controller",
		"endpointslice": "endpointslice", "endpointslice-controller": "endpointslice",
		"garbagecollector": "garbage-collector-controller", "garbage-collector": "garbage-collector-controller",
		"job": "", "nosuch": "", "": "",
	} {
		name, check := run.CheckCalled(checks, called)
		if name != want || (check != nil) != (want != "") {
			t.Errorf("%q is %q, want %q", called, name, want)
		}
	}
}
