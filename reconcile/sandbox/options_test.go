package sandbox

import (
	"os"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]string{"1.34": "1.34", "v1.36": "1.36", "1.37": "1.37"} {
		if got, err := ParseVersion(in); err != nil || got != want {
			t.Errorf("ParseVersion(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "1", "1.33", "1.38", "1.36.2", "v1.37.1", "vv1.36", "latest"} {
		_, err := ParseVersion(in)
		if err == nil {
			t.Errorf("ParseVersion(%q) succeeded", in)
		} else if !strings.Contains(err.Error(), "1.34, 1.35, 1.36, 1.37") {
			t.Errorf("ParseVersion(%q): error does not list the versions: %v", in, err)
		}
	}
}

func TestLinkedVersionIsThatOfGoMod(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "k8s.io/kubernetes " + LinkedVersion + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %s", want)
	}
	if v := Versions(); "v"+v[len(v)-1] != LinkedVersion[:len("v1.37")] {
		t.Errorf("the last of %v is not that of %s", v, LinkedVersion)
	}
}

func TestBadOptionsAreRefusedBeforeAnythingStarts(t *testing.T) {
	for name, opts := range map[string]Options{
		"version":     {KubernetesVersion: "1.12"},
		"audit level": {Audit: "Everything"},
		"audit file":  {AuditLog: os.Stderr},
	} {
		if _, err := newConfig(opts); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
