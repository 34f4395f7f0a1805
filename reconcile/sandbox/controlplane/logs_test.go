package controlplane

import (
	"strings"
	"testing"
)

// The audit log ends with the last event that fits, and that is said once.
func TestAuditLogIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		most  int64
		want  string
		times int
	}{
		"bounded":  {16, "{\"a\":1}\n{\"b\":2}\n", 1},
		"one byte": {15, "{\"a\":1}\n", 1},
		"no bound": {0, "{\"a\":1}\n{\"b\":2}\n{\"c\":\"long\"}\n{}\n", 0},
	} {
		var out strings.Builder
		times := 0
		file := &auditFile{to: &out, most: c.most, full: func() { times++ }}
		for _, line := range []string{"{\"a\":1}\n", "{\"b\":2}\n", "{\"c\":\"long\"}\n", "{}\n"} {
			if n, err := file.Write([]byte(line)); n != len(line) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if out.String() != c.want || times != c.times {
			t.Errorf("%s: it has %q and was called full %d times", name, out.String(), times)
		}
	}
}
