package engineflags

import (
	"fmt"
	"io"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// SyncWithin is how long a command that starts controllers for a look waits for their
// informers beyond the time that it lets them run.
var SyncWithin = 30 * time.Second

// WarnUnsynced says which informers have not synced.
func WarnUnsynced(out io.Writer, informers []string) {
	fmt.Fprintln(out, "warning: not synced:", render.Sanitise(state.Few(informers, "; ")))
}
