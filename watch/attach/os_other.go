//go:build !unix

package attach

import "io/fs"

// File ownership cannot be checked this way on other systems: no directory is usable,
// and attaching is not supported.

func ours(fs.FileInfo) bool { return false }

func roots(fs.FileInfo) bool { return false }
