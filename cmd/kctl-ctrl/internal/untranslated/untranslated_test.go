package untranslated_test

import (
	"testing"

	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/util/i18n"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/untranslated"
)

// The package is imported for itself here: a test within it would come after kubectl's.
// get translates while it is initialised, and takes what this package gives it.
func TestItComesFirst(t *testing.T) {
	if get.NewCustomColumnsPrintFlags() == nil || !untranslated.Asked() {
		t.Error("kubectl has loaded its own translations")
	}
	if text := i18n.T("List one resource"); text != "List one resource" {
		t.Errorf("it is translated to %q", text)
	}
}
