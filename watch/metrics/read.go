package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	// maxLine bounds one line in bytes, and maxRead the data kept: a process with ten
	// thousand queues has 3 MB.
	maxLine = 1 << 20
	maxRead = 64 << 20
)

// ErrNoMetrics is returned for a text without metrics, such as an error page.
var ErrNoMetrics = errors.New("not in the Prometheus text format")

// ErrTooLarge is returned for a text that exceeds the limits.
var ErrTooLarge = errors.New("the metrics response is too large")

// prefixes of the metric families that are read; all other lines are skipped without
// parsing, so that unknown families cannot break it.
var prefixes = []string{"workqueue_", "controller_runtime_", "scheduler_", "leader_election_master_status", "process_start_time_seconds"}

// Scrape is the queue metrics of a process at one time.
type Scrape struct {
	// At is when it was read, by the local clock.
	At time.Time
	// Started is when the process started; zero if unknown.
	Started time.Time
	// Leader has, by lease name, whether the process is its leader.
	Leader map[string]bool

	queues map[id]*measured
}

// Read parses the Prometheus text format. It ignores timestamps.
func Read(r io.Reader, at time.Time) (*Scrape, error) {
	text, err := relevant(r)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	s := &Scrape{At: at, Leader: map[string]bool{}, queues: map[id]*measured{}}
	for _, m := range families["process_start_time_seconds"].GetMetric() {
		if seconds := value(m); seconds > 0 && seconds < 1e11 {
			s.Started = time.UnixMilli(int64(seconds * 1000)).UTC()
		}
	}
	for _, m := range families["leader_election_master_status"].GetMetric() {
		s.Leader[label(m, "name")] = value(m) == 1
	}
	s.workqueues(families)
	s.controllerRuntime(families)
	s.scheduler(families)
	return s, nil
}

// relevant returns the lines to parse. It fails if not a single line looks like a
// metric.
func relevant(r io.Reader) ([]byte, error) {
	var out bytes.Buffer
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	any := false
	for lines.Scan() {
		line := lines.Bytes()
		any = any || looksLikeMetric(line)
		if !wanted(line) {
			continue
		}
		if out.Len()+len(line) >= maxRead {
			return nil, ErrTooLarge
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, ErrTooLarge
	case err != nil:
		return nil, err
	case !any:
		return nil, ErrNoMetrics
	}
	return out.Bytes(), nil
}

func wanted(line []byte) bool {
	name := string(line[:min(len(line), 80)])
	for _, comment := range []string{"# TYPE ", "# HELP "} {
		name = strings.TrimPrefix(name, comment)
	}
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// looksLikeMetric accepts a comment that declares a family, and "name value" or
// "name{labels} value".
func looksLikeMetric(line []byte) bool {
	if bytes.HasPrefix(line, []byte("# TYPE ")) {
		return true
	}
	end := bytes.IndexAny(line, "{ ")
	if end <= 0 {
		return false
	}
	for i, c := range line[:end] {
		if c != '_' && c != ':' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	fields := bytes.Fields(line[end:])
	if len(fields) == 0 {
		return false
	}
	last := fields[len(fields)-1]
	return len(last) > 0 && (last[0] >= '0' && last[0] <= '9' || last[0] == '+' || last[0] == '-' || last[0] == 'N')
}

// label returns a label's value, or "".
func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// value returns the value of a gauge, counter or untyped metric: texts without TYPE
// lines are untyped.
func value(m *dto.Metric) float64 {
	switch {
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	}
	return m.GetUntyped().GetValue()
}
