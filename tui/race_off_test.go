//go:build !race

package tui

// raced: the race detector looks on.
const raced = false
