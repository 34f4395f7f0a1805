package recorded

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A time outside of a recording is told: after its end the answer is its end, before its
// beginning there is none.
func TestTimesOutsideARecording(t *testing.T) {
	shop := filepath.Join("..", "..", "..", "..", "watch", "recording", "testdata", "shop.jsonl")
	for at, want := range map[string]struct{ warning, err string }{
		"1ms":                  {},
		"99h":                  {warning: "warning: --at 99h is after the end of the recording"},
		"2000-01-01T00:00:00Z": {err: "--at 2000-01-01T00:00:00Z is before the recording"},
	} {
		from := Flags{file: shop, at: at}
		var said bytes.Buffer
		_, err := from.snapshot(&said)
		if (err != nil) != (want.err != "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("--at %s: %v", at, err)
		}
		if !strings.HasPrefix(said.String(), want.warning) || (want.warning == "") != (said.Len() == 0) {
			t.Errorf("--at %s: it says %q", at, said.String())
		}
	}
}
