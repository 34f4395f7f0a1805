package engine

import (
	"bytes"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
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
	t.Cleanup(func() { klog.SetLogger(logr.Discard()); log.SetOutput(io.Discard) })
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

// net/http logs bytes that a server sends unasked: to the log.
func TestNetHTTPLogsToTheLog(t *testing.T) {
	t.Cleanup(func() { klog.SetLogger(logr.Discard()); log.SetOutput(io.Discard) })
	var file bytes.Buffer
	sendKlogTo(&file, 0, func(l logr.Logger) logr.Logger { return l })
	log.Print("Unsolicited response")
	if !strings.Contains(file.String(), "Unsolicited response") {
		t.Errorf("the log has %q", file.String())
	}
}

// A log does not fill the disk, however long an engine lives; of a file that the user
// has named, what was in it before stays.
func TestLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(t.TempDir(), "ci.log")
	before := strings.Repeat("mine\n", 1000)
	for _, c := range []struct {
		log        Log
		path, kept string
	}{
		{Log{Dir: dir}, filepath.Join(dir, LogName), ""},
		{Log{File: named}, named, before},
	} {
		if err := os.WriteFile(c.path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openLog(c.log)
		if err != nil {
			t.Fatal(err)
		}
		bounded, ok := file.(*boundedLog)
		if !ok {
			t.Fatalf("the log is a %T", file)
		}
		bounded.most = 1000
		line := strings.Repeat("x", 99) + "\n"
		for range 100 {
			if _, err := io.WriteString(bounded, line); err != nil {
				t.Fatal(err)
			}
		}
		if err := bounded.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		ours, found := strings.CutPrefix(string(text), c.kept)
		if !found || ours == "" || len(ours) > 1000+len(line) || strings.Trim(ours, "x\n") != "" {
			t.Errorf("%s has %d bytes: %.200q", c.path, len(text), text)
		}
	}
}
