// Package tui is the screen: it shows snapshots of a journal, and asks the parts
// of a session that it is given for what a snapshot does not hold.
//
//	err := tui.Run(ctx, tui.Options{Journal: hub, Loops: loops, …})
//
// # What it knows
//
// The package imports watch/state and render, and neither client-go nor a
// controller. What it needs of a cluster are the small interfaces of tui/port, and
// cmd hands them over. One that is nil switches off the keys that need it, and
// Parts.Missing says why.
//
// # How it is made
//
//	tui/            the root: what lies over the pages, header and footer around
//	                them, the program, and --plain
//	tui/page/NAME   a page each; they know no other and not the root
//	tui/page        the contract between root and pages, and what pages share
//	tui/port        the interfaces to a session
//	tui/widget      list, text, prompt, filter, cells, theme
//
// Imports go down this list and never up.
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
// A page is a package and a row of the table in pages.go. It declares its keys as
// actions, from which the dispatcher, the footer and the help are made, so that
// they cannot disagree.
//
// # Text
//
// Everything that a page draws goes through cells of tui/widget, where it is
// sanitised and cut to its width; a page cannot put bytes of a cluster on the
// screen in another way.
package tui
