// Package child runs a program of the user's own: the command of exec, behind a proxy,
// and that of sandbox, on the terminal.
//
// A Command is ended as a whole: a signal that ends programs goes to what it has started
// too. Its exit code comes back as an ExitError. Signals hands signals of this process to
// a command while it runs; Environment has the way to a proxy and no other.
package child
