// Package rooms has the tests of the import rules: which package may import which, and
// that only watch/connect makes clients of an API server. It reads the source tree and
// links nothing of it.
package rooms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/kctl-ctrl/kctl-ctrl/"

// A rule forbids packages of one room to depend, directly or not, on packages
// whose path begins with one of the prefixes.
type rule struct {
	room string
	// but are rooms in it that the rule is not for.
	but    []string
	except []string
	never  []string
	reason string
}

var rules = []rule{
	{
		room: "watch/state", never: []string{"k8s.io/client-go", "k8s.io/kubernetes", "github.com/charmbracelet", module},
		except: []string{module + "watch/state"},
		reason: "state is the leaf that recordings, replays and every other room share: plain data",
	},
	{
		room: "watch/document", never: []string{"k8s.io/client-go", "k8s.io/kubernetes", "github.com/charmbracelet", module},
		except: []string{module + "watch/document", module + "watch/state"},
		reason: "documents are shared by who finds answers and who shows them: plain data",
	},
	{
		room: "watch/redact", never: []string{"k8s.io/client-go", "k8s.io/kubernetes", "github.com/charmbracelet", module},
		except: []string{module + "watch/redact", module + "watch/state"},
		reason: "what removes the values of Secrets is read by people who check it, and everybody may use it",
	},
	{
		room: "render", never: []string{"k8s.io/client-go", "k8s.io/kubernetes", module + "watch/connect", module + "watch/hub", module + "reconcile", module + "tui", module + "cmd"},
		reason: "render turns state into text; what it prints must be reproducible from a recording",
	},
	{
		room: "tui", never: []string{"k8s.io/client-go", "k8s.io/kubernetes", module + "watch/connect", module + "reconcile", module + "cmd"},
		reason: "the screen sees the world through snapshots only, so that it can be drawn from a recording",
	},
	{
		room: "tui/widget", never: []string{module + "tui", module + "watch/hub"},
		except: []string{module + "tui/widget"},
		reason: "widgets draw what they are given: they know no page, and tests of them need no screen",
	},
	{
		room: "watch", never: []string{"k8s.io/kubernetes", module + "reconcile", module + "tui", module + "render", module + "cmd"},
		reason: "reading a cluster must stay light and must not reach the loops",
	},
	{
		room: "reconcile", but: []string{"reconcile/engine"},
		never:  []string{module + "watch/connect", module + "watch/hub", module + "tui", module + "render", module + "cmd", module + "reconcile/engine"},
		reason: "controllers get their config and their recorder handed in: reconcile/engine puts the parts together, and no part knows it",
	},
	{
		room: "reconcile/engine", never: []string{"github.com/charmbracelet", module + "tui", module + "render", module + "cmd"},
		reason: "other programs are made of the engine too: it prints nothing and knows no command",
	},
	{
		room: "reconcile/tap", never: []string{"k8s.io/kubernetes"},
		reason: "the tap is mechanism: what it is put into is in the descriptors of reconcile/controllers; so the race detector covers it",
	},
	{
		room: "reconcile/guard", never: []string{"k8s.io/kubernetes"},
		reason: "the guard is read by people who check it: it must stay small and light",
	},
	{
		room: "reconcile/engine/child", never: []string{"k8s.io", module},
		except: []string{module + "reconcile/engine/child"},
		reason: "running a program of the user's own is about processes, and knows no cluster",
	},
	{
		room: "reconcile/plan", never: []string{"k8s.io/kubernetes"},
		reason: "comparing two states needs no control plane; its tests must stay light",
	},
	{
		room: "", never: []string{
			"k8s.io/kubernetes/pkg/volume/hostpath", "k8s.io/kubernetes/pkg/volume/nfs", "k8s.io/kubernetes/pkg/volume/iscsi",
			"k8s.io/kubernetes/pkg/volume/fc", "k8s.io/kubernetes/pkg/volume/flexvolume", "k8s.io/kubernetes/pkg/volume/local",
			"k8s.io/kubernetes/cmd/kube-controller-manager/app/plugins",
		},
		reason: "these volume plugins act on the files and processes of the machine this program runs on: a PersistentVolume could delete a user's directories",
	},
}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	// IgnoredGoFiles are those of other platforms, their tests among them.
	IgnoredGoFiles []string
	Imports        []string
	Deps           []string
	// The tests, inside and outside of the package.
	TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports []string
}

// list is the packages of this module.
func list(t *testing.T) []listed {
	t.Helper()
	packages, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// listOnce has go list run once for all tests: it takes a second of CPU.
var listOnce = sync.OnceValues(func() ([]listed, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,Imports,Deps,TestGoFiles,XTestGoFiles,TestImports,XTestImports", module+"...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
})

func inRoom(path, room string) bool {
	rest, ours := strings.CutPrefix(path, module)
	return ours && (room == "" || rest == room || strings.HasPrefix(rest, room+"/"))
}

func hasPrefix(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool {
		return path == strings.TrimSuffix(p, "/") || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
	})
}

// broken lists the dependencies that break a rule.
func broken(r rule, packages []listed) []string {
	var found []string
	for _, p := range packages {
		if !inRoom(p.ImportPath, r.room) || slices.ContainsFunc(r.but, func(room string) bool { return inRoom(p.ImportPath, room) }) {
			continue
		}
		for _, dep := range p.Deps {
			if hasPrefix(dep, r.never) && !hasPrefix(dep, r.except) {
				found = append(found, fmt.Sprintf("%s depends on %s", p.ImportPath, dep))
			}
		}
	}
	return found
}

func TestRooms(t *testing.T) {
	packages := list(t)
	for _, r := range rules {
		for _, f := range broken(r, packages) {
			t.Errorf("%s\n\tforbidden: %s", f, r.reason)
		}
	}
}

// TestEngineKnowsNoFlags: what it runs is said in a Spec. Upstream's options, which it is
// handed, know pflag.
func TestEngineKnowsNoFlags(t *testing.T) {
	found := false
	for _, p := range list(t) {
		if !inRoom(p.ImportPath, "reconcile/engine") {
			continue
		}
		found = true
		for _, path := range p.Imports {
			if hasPrefix(path, []string{"github.com/spf13", "k8s.io/cli-runtime", "k8s.io/kubectl"}) {
				t.Errorf("%s imports %s\n\tforbidden: flags become an engine.Spec in cmd, before anything starts", p.ImportPath, path)
			}
		}
	}
	if !found {
		t.Error("there is no engine")
	}
}

// A rule that matches nothing would pass for ever: each must catch a package
// that does what it forbids.
func TestRulesCatch(t *testing.T) {
	for _, r := range rules {
		culprit := listed{ImportPath: module + strings.TrimPrefix(r.room+"/culprit", "/"), Deps: []string{strings.TrimSuffix(r.never[0], "/")}}
		if len(broken(r, []listed{culprit})) == 0 {
			t.Errorf("the rule for %q does not catch %s", r.room, r.never[0])
		}
	}
}
