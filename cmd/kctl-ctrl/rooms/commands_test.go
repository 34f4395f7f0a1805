package rooms

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	shared   = "cmd/kctl-ctrl/internal"
	commands = shared + "/command"
)

// linkers are the packages below cmd/kctl-ctrl/internal that may link Kubernetes'
// controllers, with the reason. All others stay light: a command that reads, its tests
// and what commands share are built in seconds.
var linkers = map[string]string{
	shared + "/controllerflags":   "the flags of controllers are read from upstream's defaults",
	shared + "/engineflags":       "its flags become the spec of an engine",
	shared + "/follow":            "it prints what an engine does, and asks about it",
	shared + "/look/dryrun":       "it runs controllers",
	shared + "/tuibackend":        "it answers for an engine",
	commands + "/diff":            "it runs controllers",
	commands + "/exec":            "it runs an engine's proxy",
	commands + "/policy":          "a policy names controllers",
	commands + "/run":             "it runs controllers",
	commands + "/sandbox":         "it starts an engine's sandbox",
	commands + "/tui":             "it runs controllers",
	commands + "/why":             "it runs controllers",
	commands + "/rbac":            "it asks the controllers for the rights that they need",
	commands + "/get/controllers": "it lists the controllers",
}

// TestCommandsAreRooms: a command knows what commands share, and no other command.
func TestCommandsAreRooms(t *testing.T) {
	found := 0
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if inRoom(p.ImportPath, commands) {
			found++
		}
		for _, path := range p.Imports {
			to := strings.TrimPrefix(path, module)
			if !inRoom(path, commands) || from == "cmd/kctl-ctrl" || strings.HasPrefix(to, from+"/") {
				continue
			}
			t.Errorf("%s imports %s\n\tforbidden: commands are put together in cmd/kctl-ctrl/root.go; what several need belongs beside them, below %s", from, to, shared)
		}
	}
	if found < 5 {
		t.Errorf("only %d packages of commands were found", found)
	}
}

// TestCommandsAreLight finds commands and helpers that link the controllers and need not.
func TestCommandsAreLight(t *testing.T) {
	may := maps.Clone(linkers)
	for _, p := range list(t) {
		room := strings.TrimPrefix(p.ImportPath, module)
		if !inRoom(p.ImportPath, shared) || !slices.ContainsFunc(p.Deps, ofKubernetes) {
			continue
		}
		if _, reason := linkers[room]; !reason {
			t.Errorf("%s links Kubernetes' controllers: hand it what it needs of them, or give a reason in linkers", room)
		}
		delete(may, room)
	}
	for room := range may {
		t.Errorf("%s may link Kubernetes' controllers, and does not: take it out of linkers", room)
	}
}

func ofKubernetes(path string) bool { return strings.HasPrefix(path, "k8s.io/kubernetes/") }

// heavyTests is how many packages may have a test binary that links Kubernetes' controllers:
// the program, the engine, the controllers (two), the sandbox (two) and what is simulated (two).
// Each is some 280 MB, and seconds of linking in every run.
const heavyTests = 8

// TestFewTestBinariesAreHeavy counts them.
func TestFewTestBinariesAreHeavy(t *testing.T) {
	packages := list(t)
	heavy := map[string]bool{}
	for _, p := range packages {
		heavy[p.ImportPath] = slices.ContainsFunc(p.Deps, ofKubernetes)
	}
	links := func(path string) bool { return heavy[path] || ofKubernetes(path) }
	var found []string
	for _, p := range packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		if heavy[p.ImportPath] || slices.ContainsFunc(slices.Concat(p.TestImports, p.XTestImports), links) {
			found = append(found, strings.TrimPrefix(p.ImportPath, module))
		}
	}
	if len(found) > heavyTests {
		t.Errorf("%d test binaries link Kubernetes' controllers, want %d at most:\n\t%s\n\tgive tests of a command an interface and a fake, and put heavy ones into reconcile/engine or cmd/kctl-ctrl", len(found), heavyTests, strings.Join(found, "\n\t"))
	}
}
