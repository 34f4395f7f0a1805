package cliflags

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// Each context of a list keeps every other flag of the command line.
func TestWithContext(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(true)
	*flags.Impersonate, *flags.Namespace, *flags.Timeout = "jane", "shop", "3s"
	*flags.Context = "a,b"
	got := WithContext(flags, "b")
	if *got.Context != "b" || *flags.Context != "a,b" {
		t.Errorf("contexts %q and %q", *got.Context, *flags.Context)
	}
	if *got.Impersonate != "jane" || *got.Namespace != "shop" || *got.Timeout != "3s" {
		t.Errorf("as %q in %q within %q", *got.Impersonate, *got.Namespace, *got.Timeout)
	}
}
