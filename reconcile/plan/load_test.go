package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestLoad runs the stories in testdata/load: an archive of sources, with the
// arguments in its comment ("-f x", "-R", "-k dir") and the result in "want".
func TestLoad(t *testing.T) {
	stories, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var want, stdin string
			for _, f := range archive.Files {
				switch f.Name {
				case "want":
					want = string(f.Data)
				case "stdin":
					stdin = string(f.Data)
				default:
					name := filepath.Join(dir, f.Name)
					if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(name, f.Data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			sources := Sources{Stdin: strings.NewReader(stdin)}
			t.Chdir(dir)
			args := strings.Fields(lastLine(string(archive.Comment)))
			for i := 0; i < len(args); i++ {
				switch args[i] {
				case "-R":
					sources.Recursive = true
				case "-f":
					i++
					sources.Files = append(sources.Files, args[i])
				case "-k":
					i++
					sources.Kustomize = append(sources.Kustomize, args[i])
				}
			}
			if got := loaded(sources); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func loaded(sources Sources) string {
	objects, err := Load(sources)
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s: %s %s\n", o.Source, o.GetAPIVersion(), o)
	}
	if err != nil {
		for line := range strings.Lines(err.Error() + "\n") {
			b.WriteString("error: " + line)
		}
	}
	return b.String()
}

func TestLoadNeedsASource(t *testing.T) {
	if _, err := Load(Sources{}); err == nil {
		t.Error("no sources were accepted")
	}
	if _, err := Load(Sources{Files: []string{""}}); err == nil {
		t.Error("an empty path was accepted")
	}
}

// Values must come out as kubectl would send them.
func TestLoadValues(t *testing.T) {
	objects, problems := parse("x", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: {big: 9007199254740993, f: 1.5, on: yes, s: 'yes', oct: 0644}\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	got := fmt.Sprintf("%#v", objects[0].Object["x"])
	want := fmt.Sprintf("%#v", map[string]any{"big": int64(9007199254740993), "f": 1.5, "true": true, "s": "yes", "oct": int64(420)})
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "---\n---\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "kind: List\nitems:\n- {}\n- kind: List\n",
		`{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"x"}}]} {"a":1}`, "%YAML 1.1\n--- {a: b}\n...\n? x\n",
		"a: &a [*a]\n", "\ufeffa: [", "kind: 1\napiVersion: {}\nmetadata: []\n", "apiVersion: a/b/c\nkind: K\n", "--- |\n x\n---\t# c\n", "0:\r0",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		// YAML ends a line at a carriage return too.
		lines := strings.Count(string(content), "\n") + strings.Count(string(content), "\r") + 1
		objects, problems := parse("f", content)
		for _, o := range objects {
			if o.GetAPIVersion() == "" || o.GetKind() == "" || o.GetName() == "" {
				t.Errorf("an object without a name was let through: %v", o.Object)
			}
			if o.Source.Line < 1 || o.Source.Line > lines {
				t.Errorf("%s is at line %d of %d", o, o.Source.Line, lines)
			}
			_ = identityOf(o.Object)
			if _, err := o.MarshalJSON(); err != nil {
				t.Errorf("%s cannot be sent: %v", o, err)
			}
		}
		for _, p := range problems {
			if p.At.Line < 0 || p.At.Line > lines+1 {
				t.Errorf("%v is at line %d of %d", p, p.At.Line, lines)
			}
		}
	})
}
