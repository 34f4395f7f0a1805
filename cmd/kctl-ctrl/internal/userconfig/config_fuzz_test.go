package userconfig

import (
	"slices"
	"testing"
)

// FuzzConfig: anything is a configuration or an error, and a context that is named in
// one is protected by it.
func FuzzConfig(f *testing.F) {
	const head = "apiVersion: kctl-ctrl.dev/v1alpha1\nkind: Config\n"
	for _, text := range []string{"", head, head + "protectedContexts: [prod, 'arn:*:cluster/live', 'odd[1]']", head + "protectedContexts: ['[']", head + "protectedContexts: {a: b}", head + "x: &a [*a]", "\t", `{"kind":"Config"}`} {
		f.Add([]byte(text), "prod")
	}
	f.Fuzz(func(t *testing.T, text []byte, context string) {
		config, err := Parse(text)
		if err != nil {
			if len(config.ProtectedContexts) > 0 {
				t.Fatalf("%q: %v, and %+v", text, err, config)
			}
			return
		}
		pattern := config.protects(context)
		if pattern != "" && !slices.Contains(config.ProtectedContexts, pattern) {
			t.Fatalf("%q is protected by %q, which %q does not have", context, pattern, text)
		}
		for _, name := range config.ProtectedContexts {
			if config.protects(name) == "" {
				t.Fatalf("%q names %q and does not protect it", text, name)
			}
		}
	})
}
