package follow

import (
	"io"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/waits"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// ReportWaits prints on out what a wait for the controllers to settle is still for,
// after 5 s and then at growing intervals.
func ReportWaits(e *engine.Engine, out io.Writer) {
	e.ReportWaits(func(w settle.Waiting) {
		text := ""
		if console.IsTerminal(out) {
			text = "\r\x1b[K" // a progress line may be there
		}
		for _, line := range waits.Describe(w, e.Journal().Flush(), time.Now()) {
			text += render.Sanitise(line) + "\n"
		}
		_, _ = io.WriteString(out, text)
	})
}
