package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

// BenchmarkReadyz measures from before the child is started until /readyz is ok,
// and the child's resident memory then. Run it with -benchtime=10x for the median
// of ten.
func BenchmarkReadyz(b *testing.B) {
	var listening, ready, closed, resident []float64
	for b.Loop() {
		start := time.Now()
		sb, err := sandbox.Start(b.Context(), sandbox.Options{
			OnListening: func(*sandbox.Sandbox) { listening = append(listening, time.Since(start).Seconds()) },
		})
		if err != nil {
			b.Fatal(err)
		}
		ready = append(ready, time.Since(start).Seconds())
		resident = append(resident, residentMB(b, sb.PID()))
		start = time.Now()
		if err := sb.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		closed = append(closed, time.Since(start).Seconds())
	}
	b.ReportMetric(median(listening), "s/listening")
	b.ReportMetric(median(ready), "s/ready")
	b.ReportMetric(slices.Max(ready), "s/slowest")
	b.ReportMetric(median(closed), "s/close")
	if m := median(resident); m > 0 {
		b.ReportMetric(m, "MB-resident")
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// residentMB reads VmRSS; elsewhere than on linux it is 0.
func residentMB(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
