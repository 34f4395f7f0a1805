package approve

import (
	"errors"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// FuzzParse: anything is a policy or has problems, each at a line of the text and safe
// to print. What is a policy covers no more when it is read again.
func FuzzParse(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		policy, err := Parse("policy.yaml", text, knownController)
		if err == nil {
			if policy == nil || policy.APIVersion != APIVersion || policy.Kind != Kind {
				t.Fatalf("%q is the policy %+v", text, policy)
			}
			for _, rule := range policy.Allow {
				if len(rule.Controllers) == 0 || len(rule.Verbs) == 0 || len(rule.Kinds) == 0 || len(rule.Namespaces) == 0 && !rule.ClusterScoped {
					t.Fatalf("%q has a rule that covers nothing: %+v", text, rule)
				}
			}
			return
		}
		var problems Problems
		if !errors.As(err, &problems) || policy != nil {
			t.Fatalf("%q: %v, %+v", text, err, policy)
		}
		for _, p := range problems {
			if lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 2; p.Line < 0 || p.Line > lines || p.Text != state.OneLine(p.Text) {
				t.Fatalf("%q: line %d of %d, %q", text, p.Line, lines, p.Text)
			}
		}
	})
}
