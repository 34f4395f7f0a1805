package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkCache is how long `cache pods -A` takes on a cluster of 40,000 pods, as a whole
// process, and `kubectl get pods -A` in turn with it: medians of three.
func BenchmarkCache(b *testing.B) {
	binary, kubeconfig := buildProgram(b), podsSandbox(b)
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		kubectl = ""
	}
	timed := func(name string, args ...string) time.Duration {
		command := exec.Command(name, append(args, "--kubeconfig", kubeconfig)...)
		command.Env = append(os.Environ(), "HOME="+b.TempDir())
		start := time.Now()
		out, err := command.Output()
		took := time.Since(start)
		if lines := bytes.Count(out, []byte("\n")); err != nil || lines != screenPods+1 {
			b.Fatalf("%s %q: %d lines, want %d and the headers: %v", name, args, lines, screenPods, err)
		}
		return took
	}
	median := func(values []time.Duration) float64 {
		slices.Sort(values)
		return values[len(values)/2].Seconds()
	}
	for b.Loop() {
		var ours, theirs []time.Duration
		for range 3 {
			ours = append(ours, timed(binary, "cache", "pods", "-A"))
			if kubectl != "" {
				theirs = append(theirs, timed(kubectl, "get", "pods", "-A"))
			}
		}
		b.ReportMetric(median(ours), "s/cache")
		if kubectl != "" {
			b.ReportMetric(median(theirs), "s/kubectl")
		}
	}
	b.ReportMetric(0, "ns/op")
}
