package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Position is where a manifest stands. The zero Position is unknown.
type Position struct {
	// File is the path as the user gave it, below the directory as given,
	// "<stdin>", or the directory of a kustomization.
	File string
	// Line counts from 1; 0 means the file as a whole.
	Line int
}

// String is "web.yaml:12".
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Object is a manifest and where it came from.
type Object struct {
	*unstructured.Unstructured
	Source Position
}

// String is "Deployment shop/web".
func (o Object) String() string { return describe(o.Object) }

func describe(content map[string]any) string {
	u := unstructured.Unstructured{Object: content}
	name := u.GetName()
	if ns := u.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return strings.TrimSpace(u.GetKind() + " " + name)
}

// Problem is one thing wrong with one manifest. Its text is one line, whatever
// the manifest and the server put into it.
type Problem struct {
	At Position
	// Object is "Deployment shop/web", or empty where it is not known.
	Object string
	Err    error
}

func (p *Problem) Error() string {
	var b strings.Builder
	for _, part := range []string{p.At.String(), p.Object} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(p.Err.Error())
	return state.OneLine(b.String())
}

func (p *Problem) Unwrap() error { return p.Err }

// Problems are all things found wrong in one step, in the order of their
// positions. Its text has one line per problem.
type Problems []*Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each problem.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i, problem := range p {
		errs[i] = problem
	}
	return errs
}

// err sorts the problems and is nil where there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b *Problem) int {
		if c := strings.Compare(a.At.File, b.At.File); c != 0 {
			return c
		}
		return a.At.Line - b.At.Line
	})
	return p
}
