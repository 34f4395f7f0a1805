package words

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// documents are the files in Markdown that users read.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "SECURITY.md", "examples/README.md"}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		files = append(files, "docs/"+filepath.Base(page))
	}
	return files
}

// notProse is what a document quotes: programs and their output, names in code, the targets
// of links, and what tests write into it from tables of the source.
var notProse = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\\]\\([^)]*\\)|<!-- ([a-z]+): written by .*?<!-- end of [a-z]+ -->")

// prose is a document with spaces in place of what is not prose; lines stay where they are.
func prose(markdown string) string {
	return notProse.ReplaceAllStringFunc(markdown, blank)
}

// flags are the names of flags, which have words that texts must not have.
var flags = regexp.MustCompile(`--?[a-z][a-z-]*`)

// identifier is a string that a program reads: a key, a path, a name, a verb of printf.
var identifier = regexp.MustCompile(`^\S*[^\sA-Z]\S*$`)

// blank is as many spaces as the text has bytes, with its line breaks.
func blank(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, text)
}

// A literal is a string of the source with the constants that are added to it, or a
// package comment.
type literal struct {
	text string
	line int
}

// literals are the texts of a Go file: its package comment without the code in it, and its
// string literals without imports, tags of fields, and identifiers.
func literals(file string, source any) ([]literal, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var out []literal
	if parsed.Doc != nil {
		var lines []string
		for _, comment := range parsed.Doc.List {
			line := strings.TrimPrefix(comment.Text, "//")
			if strings.HasPrefix(line, "\t") {
				line = "" // code
			}
			lines = append(lines, line)
		}
		out = append(out, literal{strings.Join(lines, "\n"), fset.Position(parsed.Doc.Pos()).Line})
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case ast.Expr:
			if text, whole := constant(n); whole {
				if !identifier.MatchString(text) {
					out = append(out, literal{flags.ReplaceAllStringFunc(text, blank), fset.Position(n.Pos()).Line})
				}
				return false
			}
		}
		return true
	})
	return out, nil
}

// shorts are the texts of fields named Short in a Go file: those of commands.
func shorts(file string, source any) (out []literal, err error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		field, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if name, ok := field.Key.(*ast.Ident); ok && name.Name == "Short" {
			if text, ok := constant(field.Value); ok {
				out = append(out, literal{text, fset.Position(field.Pos()).Line})
			}
		}
		return true
	})
	return out, nil
}

// constant is the text of a string literal, or of literals that are added.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

// packages are the directories with texts that users read.
var packages = []string{"cmd", "reconcile", "render", "tui", "watch"}

// eachSource visits the Go files of these directories, without tests and what only tests use.
func eachSource(t *testing.T, visit func(dir, file string)) {
	t.Helper()
	files := 0
	for _, dir := range packages {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || testHelpers[entry.Name()]):
				return filepath.SkipDir
			case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			rel, err := filepath.Rel(root, path)
			files++
			visit(filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Fatalf("only %d Go files were found", files)
	}
}

// testHelpers are directories of packages that only tests import.
var testHelpers = map[string]bool{
	"faults": true, "layouttest": true, "leaktest": true, "programtest": true, "recycle": true, "scripttest": true, "tuitest": true, "twin": true,
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
