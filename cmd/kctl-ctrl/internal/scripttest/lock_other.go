//go:build !unix

package scripttest

// lock has nothing to lock with: packages that are tested at once may link twice.
func lock(string) (unlock func(), err error) { return func() {}, nil }
