package state

import (
	"io"
	"strings"
)

// InertLog wraps the destination of a log. Each record, which is one call of Write, is
// made safe for a terminal and for the log of a CI job, line by line as OneLine does;
// lines after the first are indented, so that none of them can be taken for a record.
func InertLog(w io.Writer) io.Writer { return inertLog{w} }

type inertLog struct{ to io.Writer }

// Write implements io.Writer.
func (l inertLog) Write(p []byte) (int, error) {
	text, ended := strings.CutSuffix(string(p), "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = BreakCommands(OneLine(line))
	}
	text = strings.Join(lines, "\n  ")
	if ended {
		text += "\n"
	}
	if _, err := io.WriteString(l.to, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
