// Package tui is the terminal UI: it displays snapshots of a journal, and reads what a
// snapshot does not contain through the ports of a session.
//
//	err := tui.Run(ctx, tui.Options{Journal: hub, Loops: loops, …})
//
// # Dependencies
//
// The package imports watch/state and render, and neither client-go nor a controller. What it
// needs of a cluster are the small interfaces of tui/port, which cmd provides. One that is nil
// switches off the keys that need it, and Parts.Missing returns the reason.
//
// # Packages
//
//	tui/            the root: overlays, header and footer, the program, and --plain
//	tui/page/NAME   one package per page; it uses no other page and not the root
//	tui/page        the contract between root and pages, and what pages share
//	tui/port        the interfaces to a session
//	tui/widget      list, text, prompt, filter, cells, theme
//
// A package imports only packages below it in this list.
//
// # Messages
//
// One command of Bubble Tea waits for the next snapshot, and its message swaps a pointer.
// Requests to a cluster run in commands too and return as messages. So Update never blocks,
// and View only draws what it has: its cost is that of the visible lines, whatever the size
// of the cluster.
//
// # Pages
//
// A page is a package and a row of the table in pages.go. It declares its keys as actions,
// from which the dispatcher, the footer and the help are generated, so that they cannot
// differ.
//
// # Text
//
// Everything that a page draws passes cells of tui/widget, which sanitise and truncate it; a
// page has no other way to write bytes of a cluster to the terminal.
package tui
