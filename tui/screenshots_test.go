package tui

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The size of the screenshots, and what one may weigh in bytes.
const (
	shotWidth, shotHeight = 104, 28
	maxShot               = 60_000
)

// shot is a picture of the documentation; the title is its text for those who do
// not see it.
type shot struct {
	name, title string
	play        func(t *testing.T) *screen
}

func shots() []shot {
	return []shot{
		{"controllers", "Page 1, Controllers: each loop with its depth, retries, syncs and writes", func(t *testing.T) *screen {
			return playedShop(t, page.Controllers, 1100)
		}},
		{"queues", "Page 2, Queues: every key with its state, its age and why it was added", func(t *testing.T) *screen {
			return playedShop(t, page.Queues, 1100)
		}},
		{"story", "The story of a key: why each attempt was made, what it wrote, why it failed, when the next is due", func(t *testing.T) *screen {
			return playedShop(t, page.Queues, 0).press("f", "enter")
		}},
		{"cache", "Page 3, Informers: the cache of pods", func(t *testing.T) *screen {
			return playedShop(t, page.Informers, 0).press(":", "type:pods", "enter", "G")
		}},
		{"timeline", "Page 8, Timeline: what followed from applying a Deployment, hop by hop", func(t *testing.T) *screen {
			s := playedShop(t, page.Timeline, 640)
			s.send(page.JumpMsg{Page: page.Timeline, To: shopWeb})
			return s.press("<")
		}},
		{"tree", "Page 5, Tree: what a Deployment owns", func(t *testing.T) *screen {
			s := recordedCluster(t, page.Tree)
			s.send(page.JumpMsg{Page: page.Tree, To: shopWeb})
			return s
		}},
		{"delete", "A delete preview: what goes, what is held, what survives, and why", func(t *testing.T) *screen {
			s := recordedCluster(t, page.Tree)
			s.send(page.JumpMsg{Page: page.Tree, To: shopWeb})
			return s.press("x", "G", "k")
		}},
		{"revisions", "Page 6, Revisions: the histories of all templates", func(t *testing.T) *screen {
			return recordedCluster(t, page.Revisions).press("E", "j", "m", "j", "m")
		}},
	}
}

func shotTitle(t *testing.T, name string) string {
	t.Helper()
	for _, s := range shots() {
		if s.name == name {
			return s.title
		}
	}
	t.Fatalf("there is no picture %s", name)
	return ""
}

// TestScreenshots draws the pictures of the documentation: docs/screens/*.svg, from
// the recorded session, and for what asks a cluster from testdata/screens.
func TestScreenshots(t *testing.T) {
	for _, shot := range shots() {
		t.Run(shot.name, func(t *testing.T) {
			s := shot.play(t)
			svg, err := picture(s.View(), shot.title, shotWidth, shotHeight)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := readPicture(t, svg, shotHeight), s.text(); got != want {
				t.Errorf("the picture says\n%s\nthe screen\n%s", got, want)
			}
			if len(svg) > maxShot {
				t.Errorf("the picture has %d bytes, more than %d", len(svg), maxShot)
			}
			written(t, filepath.Join("..", "docs", "screens", shot.name+".svg"), svg)
		})
	}
}

// written compares a file of the documentation with what it should be, or writes it.
func written(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not current: write it anew with go test ./tui -run '%s' -update", file, strings.SplitN(t.Name(), "/", 2)[0])
	}
}

// shotOptions are those of a session on a sandbox.
func shotOptions(t *testing.T, id page.ID) Options {
	return Options{
		Parts: page.Parts{Theme: testTheme(t, "default", termenv.ANSI), Loops: &fakeLoops{}},
		Start: int(id),
		Copy:  func(string) (string, error) { return "", nil },
	}
}

// playedShop shows the recorded session up to a number of its entries, as it went:
// a sample for each second of it. Zero is all.
func playedShop(t *testing.T, id page.ID, entries int) *screen {
	t.Helper()
	all := tuitest.Recorded(t)
	if entries > 0 {
		all = all[:entries]
	}
	now := all[0].At
	o := shotOptions(t, id)
	o.Now = func() time.Time { return now }
	snap := state.NewSnapshot(state.Limits{})
	s := newScreen(t, o, snap, shotWidth, shotHeight)
	for at := 0; at < len(all); {
		from := at
		for at < len(all) && (!all[at].At.After(now) || at == from) {
			at++
		}
		now = all[at-1].At
		snap = state.Fold(snap, all[from:at]...)
		s.env.Now = now
		s.show(snap)
		if at < len(all) {
			now = now.Add(time.Second)
		}
	}
	s.env.Now = now
	return s
}

// recordedCluster answers from the files that testdata/screens/record.sh made.
func recordedCluster(t *testing.T, id page.ID) *screen {
	t.Helper()
	c := &clusterFiles{}
	read := func(name string, to any) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("testdata", "screens", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var trees document.OwnerTreeList
	read("tree.json", &trees)
	c.tree = trees.Items[0]
	read("cascade.json", &c.cascade)
	var latest time.Time
	for _, name := range []string{"web", "mail-worker", "log-agent", "db"} {
		var l state.RevisionList
		read("revisions-"+name+".json", &l)
		c.lists = append(c.lists, l)
		for _, r := range l.Items {
			if r.Created.After(latest) {
				latest = r.Created
			}
		}
	}
	o := shotOptions(t, id)
	o.Owners, o.Revisions = c, c
	o.Now = func() time.Time { return latest.Add(95 * time.Second) }
	return newScreen(t, o, shop(t, 0), shotWidth, shotHeight)
}

// clusterFiles are the answers of one cluster to one question each.
type clusterFiles struct {
	fakeRevisions
	tree    document.OwnerTree
	cascade document.Cascade
}

func (c *clusterFiles) Tree(context.Context, state.Ref) (document.OwnerTree, error) {
	return c.tree, nil
}
func (c *clusterFiles) Roots(context.Context, string) (document.OwnerTree, error) { return c.tree, nil }

func (c *clusterFiles) Cascade(context.Context, state.Ref, document.CascadePolicy) (document.Cascade, error) {
	return c.cascade, nil
}
