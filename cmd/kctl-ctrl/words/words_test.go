// Package words holds the test of the vocabulary: documents, help, errors and the texts of
// pages use the terms of the Kubernetes docs. The table of terms is in terms_test.go.
//
// Documents are checked as a whole. Of the source, package comments and all string literals
// are checked, except in the packages of unclean, which still have findings:
//
//	go test ./cmd/kctl-ctrl/words -run TestSources -v
//
// prints these, and the packages that are clean now and can leave the list.
package words

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// An allowed phrase is right in its file, for a reason.
type allowed struct {
	file, phrase, reason string
}

var allow = []allowed{
	{"reconcile/approve/doc.go", "unasked", "the name of a field"},
}

// unclean are packages, each with those below it, whose texts are not rewritten yet.
var unclean = []string{
	"cmd/kctl-ctrl",
}

// TestDocuments checks README, SECURITY and the manuals.
func TestDocuments(t *testing.T) {
	used := map[allowed]bool{}
	for _, file := range documents(t) {
		for _, f := range inspect(file, 1, prose(read(t, file))) {
			if !permitted(f, used) {
				t.Errorf("%s:%d: %q: say %q", f.file, f.line, f.phrase, f.say)
			}
		}
	}
	for _, a := range allow {
		if filepath.Ext(a.file) == ".md" && !used[a] {
			t.Errorf("%s does not contain %q any more: remove it from allow", a.file, a.phrase)
		}
	}
}

// TestSources checks the package comments and string literals of the program.
func TestSources(t *testing.T) {
	used, count := map[allowed]bool{}, map[string]int{}
	eachSource(t, func(dir, file string) {
		texts, err := literals(file, read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			for _, f := range inspect(file, text.line, text.text) {
				if permitted(f, used) {
					continue
				}
				if in := within(unclean, dir); in != "" {
					count[in]++
					if testing.Verbose() {
						t.Logf("%s:%d: %q: say %q", f.file, f.line, f.phrase, f.say)
					}
					continue
				}
				t.Errorf("%s:%d: %q: say %q", f.file, f.line, f.phrase, f.say)
			}
		}
	})
	for _, dir := range unclean {
		if count[dir] == 0 {
			t.Logf("%s is clean: remove it from unclean", dir)
		}
	}
	for _, a := range allow {
		if filepath.Ext(a.file) == ".go" && !used[a] {
			t.Errorf("%s does not contain %q any more: remove it from allow", a.file, a.phrase)
		}
	}
}

// TestShorts checks the short help of commands: at most 60 characters that begin with a
// capital letter and do not end with a full stop.
func TestShorts(t *testing.T) {
	found := 0
	eachSource(t, func(dir, file string) {
		texts, err := shorts(file, read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, short := range texts {
			found++
			first, _ := utf8.DecodeRuneInString(short.text)
			switch length := utf8.RuneCountInString(short.text); {
			case length <= 60 && unicode.IsUpper(first) && !strings.HasSuffix(short.text, "."):
			case within(unclean, dir) == "":
				t.Errorf("%s:%d: %d characters: %q", file, short.line, length, short.text)
			case testing.Verbose():
				t.Logf("%s:%d: %d characters: %q", file, short.line, length, short.text)
			}
		}
	})
	if found < 20 {
		t.Errorf("only %d commands were found", found)
	}
}

// permitted says whether a finding is in the allow list.
func permitted(f finding, used map[allowed]bool) bool {
	for _, a := range allow {
		if a.file == f.file && a.phrase == f.phrase {
			used[a] = true
			return true
		}
	}
	return false
}

// within is the entry of a list that a directory is, or is below.
func within(list []string, dir string) string {
	for _, entry := range list {
		if dir == entry || strings.HasPrefix(dir, entry+"/") {
			return entry
		}
	}
	return ""
}

// TestAllowHasReasons keeps the allow list short and explained.
func TestAllowHasReasons(t *testing.T) {
	if len(allow) > 20 {
		t.Errorf("%d phrases are allowed: change the table of terms instead", len(allow))
	}
	for _, a := range allow {
		if a.reason == "" || a.phrase != strings.ToLower(a.phrase) {
			t.Errorf("%s %q: a phrase is in lower case and has a reason", a.file, a.phrase)
		}
	}
}

// TestPlantedWords plants words in a document and in a source file: each is found with its
// line, and what is quoted is not.
func TestPlantedWords(t *testing.T) {
	var got []string
	for _, f := range inspect("planted.md", 1, prose("# The screen\n\nThe `--loop` of a control\nloop, and\nthe [loops](a.md#the-brake)\n\n```sh\nstands by # loops\n```\n\nIt comes to\nrest.\n\n<!-- keys: written by a test -->\na loop\n<!-- end of keys -->\n\nThere is no lease; it is no fence.\n")) {
		got = append(got, fmt.Sprintf("%d %s", f.line, f.phrase))
	}
	texts, err := literals("planted.go", "// Package p knows\n// no loop.\n//\n//\tloops\npackage p\n\nimport _ \"the brake\"\n\ntype t struct {\n\tF int `json:\"the loops\"`\n}\n\nconst text = `one\nloop`\n\nvar u = f(\"the \"+\n\t\"brake --loops\", \"loops\", \"FLY\", \"loops: \"+name)\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		for _, f := range inspect("planted.go", text.line, text.text) {
			got = append(got, fmt.Sprintf("%d %s", f.line, f.phrase))
		}
	}
	want := "1 the screen, 5 loops, 11 comes to rest, 18 no fence, 18 is no fence, 1 knows no, 2 loop, 14 loop, 16 brake, 17 fly, 17 loops"
	if strings.Join(got, ", ") != want {
		t.Errorf("found\n%s, want\n%s", strings.Join(got, ", "), want)
	}
}
