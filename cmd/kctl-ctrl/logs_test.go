package main

import (
	"bytes"
	"errors"
	"log"
	"strings"
	"testing"
	"unicode"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

// hostileLines are what a server may send as a message.
const hostileLines = "denied:\n\x1b]52;c;aGk=\x07\u009b31m\u202egnp\n::error::x\nE1122 13:00:00.0 forged.go:1] \"a record\"\n##[error]y"

func TestLogIsInert(t *testing.T) {
	t.Cleanup(silenceKlog)
	var out bytes.Buffer
	logger := sendKlogTo(&out, 7, func(l logr.Logger) logr.Logger { return l })
	logger.Error(errors.New(hostileLines), "a webhook's message", "object", hostileLines)
	klog.ErrorS(errors.New(hostileLines), hostileLines)
	klog.InfoS("dump", "object", struct{ Message string }{hostileLines})
	klog.Errorf("%v", hostileLines)
	log.Print(hostileLines)
	got := out.String()
	for _, r := range got {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
			t.Errorf("%U is in the log: %q", r, got)
			break
		}
	}
	if command, found := runnertest.Command(got); found {
		t.Errorf("the log has the command %q:\n%s", command, got)
	}
	if strings.Contains(got, "\nE1122 13:00:00.0 forged") {
		t.Errorf("text of a message passes for a record:\n%s", got)
	}
	if n := strings.Count(got, "forged.go:1"); n < 5 {
		t.Errorf("of five messages %d are in the log:\n%s", n, got)
	}
}
