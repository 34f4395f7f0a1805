// Package tui is the screen: it shows snapshots of a journal, and asks the parts
// of a session that it is given for what a snapshot does not hold.
//
//	err := tui.Run(ctx, tui.Options{Journal: hub, Loops: loops, …})
//
// # What it knows
//
// The package imports watch/state and render, and neither client-go nor a
// controller. What it needs of a cluster it declares as small interfaces
// (backend.go), and cmd hands them over. One that is nil switches off the keys
// that need it, and Options.Missing says why.
//
// # How it moves
//
// One command of Bubble Tea waits for the next snapshot, and its message swaps a
// pointer. Questions to a cluster run in commands too and come back as messages.
// So Update never blocks, and View only draws what it has: its cost is that of
// the lines on the screen, whatever the cluster holds.
//
// # Pages
//
// A page is a file page….go and a row of the table in page.go. It declares its
// keys as actions (action.go), from which the dispatcher, the footer and the help
// are made, so that they cannot disagree. Lists, texts and prompts are widgets
// (tui/widget).
//
// # Text
//
// Everything that a page draws goes through cells of tui/widget, where it is
// sanitised and cut to its width; a page cannot put bytes of a cluster on the
// screen in another way.
package tui
