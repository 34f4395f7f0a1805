// Package layouttest builds each of upstream's controllers on a fake API server,
// and attaches the taps that its descriptor lists.
package layouttest
