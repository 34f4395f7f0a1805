package controllers

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestUntappedFlag(t *testing.T) {
	for word, want := range map[string]bool{"": false, "refuse": false, "allow": true} {
		o, err := NewOptions()
		if err != nil {
			t.Fatal(err)
		}
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.AddUntappedFlag(fs)
		if word != "" {
			err = fs.Parse([]string{"--untapped=" + word})
		}
		if err != nil || o.Untapped() != want {
			t.Errorf("--untapped=%q: %t, %v", word, o.Untapped(), err)
		}
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(Options).AddUntappedFlag(fs)
	if err := fs.Parse([]string{"--untapped=yes"}); err == nil || !strings.Contains(err.Error(), `"yes" is not a valid value: use refuse or allow`) {
		t.Errorf("a value that is none: %v", err)
	}
}
