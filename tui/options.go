package tui

import (
	"context"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
)

// Options are what a screen is made of. Journal and Theme are needed; each other
// part that is nil switches off the keys that need it.
type Options struct {
	page.Parts
	Journal    port.Journal
	Connection port.Connection
	Recorder   port.Recorder

	// Stand: once connected, the user is asked whether the controllers of StandFor,
	// or where there are none those that run, are to write for real.
	Stand    bool
	StandFor []string
	// Now is time.Now, or the position of a player.
	Now func() time.Time
	// Requests counts the requests sent to the API server; nil where unknown.
	Requests func() uint64
	// Copy puts text on the clipboard and says how.
	Copy func(text string) (how string, err error)
	// Kubeconfig is a file with which kubectl reaches the sandbox that is shown; empty
	// where it is no sandbox.
	Kubeconfig string
	// Once: Plain prints the rows of one snapshot and ends.
	Once bool
	// Start is the page shown first; 1 where it is zero.
	Start int
	// Open is a type whose cache is opened first, on its page; empty for none.
	Open string
	// Connect makes the Parts while the screen is up already, and returns what
	// puts them into Options. Its error ends the screen, and Run returns it. Nil
	// where the Parts are there.
	Connect func(context.Context) (func(*Options), error)
	// Crashed is closed when the session cannot go on; Crash says why.
	Crashed <-chan struct{}
	Crash   func() error
}
