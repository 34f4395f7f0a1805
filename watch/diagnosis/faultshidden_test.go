package diagnosis

import (
	"strings"
	"testing"
)

// hidable are the types that a user may be forbidden to read.
var hidable = []string{"events", "pods", "replicasets", "nodes", "secrets", "configmaps", "resourcequotas", "services", "serviceaccounts", "storageclasses", "persistentvolumes", "namespaces"}

// hideAll makes TestHiddenFacts hide each type from each fault, not one in turn; the
// build tag faults sets it.
var hideAll = false

// What may not be read never makes something certain that is not true.
func TestHiddenFacts(t *testing.T) {
	for i, f := range loadFaults(t) {
		types := hidable[i%len(hidable) : i%len(hidable)+1]
		if hideAll {
			types = hidable
		}
		for _, hidden := range types {
			if kindOf(t, hidden).resource == kindOf(t, strings.Split(f.Ask, "/")[0]).resource {
				continue
			}
			found := build(t, f.World, f.change.copyOf(t), change{Forbidden: []string{hidden}}).ask(f.Ask)
			if wrong := wronglyCertain(found, append(f.Also, f.Cause)...); len(wrong) > 0 {
				t.Errorf("%s without %s: %v is called certain", f.Name, hidden, wrong)
			}
		}
	}
}
