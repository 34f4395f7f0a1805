package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
)

// auditFile is a new file for the audit log of a sandbox, which takes it over.
//
//lint:ignore U1000 for the tests with the tags twins and scenarios
func auditFile(t testing.TB) *os.File {
	t.Helper()
	file, err := ownfile.Create(filepath.Join(t.TempDir(), "audit.log"), false)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
