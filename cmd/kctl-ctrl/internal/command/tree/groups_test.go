package tree

import (
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// A group that is not served is no group without objects.
func TestUnknownAPIGroups(t *testing.T) {
	kinds := owners.NewKinds(nil, nil, nil)
	if err := checkGroups(nil, kinds); err != nil {
		t.Error(err)
	}
	if err := checkGroups([]string{"nosuch"}, kinds); err == nil || !strings.Contains(err.Error(), `does not serve the API group "nosuch"`) {
		t.Errorf("got %v", err)
	}
}
