package lead

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// warnOfUndone says what nobody does while this process leads: a
// kube-controller-manager that stands by runs none of its loops. It is said before
// the lease is taken, while it can still be thought better of.
func (c *Candidacy) warnOfUndone() error {
	if c.Scheduler {
		c.Recorder.Record(state.Note{Source: "election", Warning: true, Text: "while this process leads, upstream's default profile places pods; a standby kube-scheduler's own profiles, plugins and extenders are not used"})
		return nil
	}
	undone, err := controllers.Undone(c.Component, c.Namespace)
	if err != nil {
		return fmt.Errorf("--controllers: %w", err)
	}
	if text := DescribeUndone(undone, c.Namespace); text != "" {
		c.Recorder.Record(state.Note{Source: "election", Warning: true, Text: text})
	}
	return nil
}

// DescribeUndone says what nobody does while this process leads; it is empty where nothing is left undone.
func DescribeUndone(undone []string, namespace string) string {
	var parts []string
	if namespace != "" {
		parts = append(parts, "all namespaces but "+namespace+" are not reconciled by any controller")
	}
	if len(undone) > 0 {
		names := make([]string, len(undone))
		for i, name := range undone {
			names[i] = state.ShortName(name)
		}
		parts = append(parts, fmt.Sprintf("no process runs these controllers of kube-controller-manager (%d): %s", len(names), strings.Join(names, ", ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "while this process leads, " + strings.Join(parts, "; ")
}
