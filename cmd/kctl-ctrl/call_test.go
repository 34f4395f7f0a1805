package main

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// call runs one command line in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, words bytes.Buffer
	code = execute(t.Context(), append([]string{"kctl-ctrl"}, args...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &words})
	return code, out.String(), words.String()
}
