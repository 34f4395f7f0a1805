package tap

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The versions in go.mod are those that the tap was checked with.
func TestChecked(t *testing.T) {
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range moved(string(data), runtime.Version()) {
		t.Error(f)
	}
}

// moved lists what goMod and the release of Go have in other versions than the tap was
// checked with.
func moved(goMod, release string) []string {
	var found []string
	for module, checked := range map[string]string{
		"k8s.io/kubernetes": checkedKubernetes, "k8s.io/client-go": checkedClientGo, "k8s.io/controller-manager": checkedControllerManager,
	} {
		m := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(module) + ` (\S+)`).FindStringSubmatch(goMod)
		if m == nil || m[1] != checked {
			found = append(found, "go.mod has "+module+" in another version than "+checked+": checked.go says what to read before that changes")
		}
	}
	if !strings.HasPrefix(release, "go"+checkedGo+".") && release != "go"+checkedGo {
		found = append(found, release+" is another release than go"+checkedGo+": checked.go says what to read before that changes")
	}
	return found
}

func TestMoved(t *testing.T) {
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	later := strings.ReplaceAll(string(data), "v0.37.1", "v0.38.0")
	if got := moved(later, "go1.27.1"); len(got) != 3 {
		t.Errorf("of client-go, controller-manager and Go: %q", got)
	}
}
