package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

// screenPods is the size of the cluster that is looked at.
const (
	screenPods = 40_000
	screenRuns = 3
)

// BenchmarkScreen looks at 40,000 pods of a real API server: the whole program on a
// terminal, from its start to the first row and to the last, its memory and what it
// needs when nothing happens, against a bare informer of client-go in a process of
// its own.
func BenchmarkScreen(b *testing.B) {
	binary := buildProgram(b)
	informers := filepath.Join(b.TempDir(), "informers.test")
	build := exec.Command("go", "test", "-c", "-o", informers, "../../watch/informers")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	kubeconfig := podsSandbox(b)
	for b.Loop() {
		var ours, bare []looked
		for i := range screenRuns + 1 { // the first fills the server's watch cache
			theirs, mine := lookBare(b, informers, kubeconfig), lookOn(b, binary, kubeconfig)
			if i > 0 {
				bare, ours = append(bare, theirs), append(ours, mine)
			}
		}
		middle := func(of []looked, value func(looked) time.Duration) float64 {
			var all []time.Duration
			for _, l := range of {
				all = append(all, value(l))
			}
			return median(all).Seconds()
		}
		all := func(l looked) time.Duration { return l.all }
		peak := func(l looked) time.Duration { return time.Duration(l.peak) * time.Second }
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(middle(ours, func(l looked) time.Duration { return l.first }), "s-first-row")
		b.ReportMetric(middle(ours, all), "s-all-rows")
		b.ReportMetric(middle(bare, all), "s-bare-synced")
		b.ReportMetric(middle(ours, all)/middle(bare, all), "ratio-all-rows")
		b.ReportMetric(middle(ours, peak)/1e6, "MB-peak")
		b.ReportMetric(middle(bare, peak)/1e6, "MB-peak-bare")
		b.ReportMetric(100*middle(ours, func(l looked) time.Duration { return l.idle }), "%-idle")
		b.Logf("ours %+v\nbare %+v", ours, bare)
	}
}

// looked is what one process needed: to the first row and to all, memory at most,
// and of each idle second.
type looked struct {
	first, all, idle time.Duration
	peak             uint64
}

// lookOn shows the pods on a terminal.
func lookOn(b *testing.B, binary, kubeconfig string) looked {
	b.Helper()
	x := &terminal{t: b, command: exec.Command(binary, "tui", "pods")}
	x.drawn = sync.NewCond(&x.mu)
	x.command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "TERM=xterm-256color", "NO_COLOR=", "HOME="+b.TempDir())
	begun := time.Now()
	x.start(200, 60)
	defer func() {
		x.press("q")
		_ = x.command.Wait()
	}()
	x.matches(`app-[0-9]+-5d4f-[0-9]`)
	out := looked{first: time.Since(begun)}
	x.until(func(picture string) bool {
		return strings.Contains(picture, fmt.Sprintf("pods: %d", screenPods)) && !strings.Contains(picture, "listing")
	}, "all pods")
	out.all = time.Since(begun)
	const settle, span = 3 * time.Second, 20 * time.Second
	time.Sleep(settle) // what came with the rows is over then
	before := x.used()
	time.Sleep(span)
	out.idle = time.Duration(float64(x.used()-before) / span.Seconds())
	out.peak = peakOf(b, x.screen())
	return out
}

// used is the processor time of the program so far.
func (x *terminal) used() time.Duration {
	x.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", x.screen()))
	if err != nil {
		x.t.Skip(err)
	}
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // of Linux's 100 ticks a second
}

// peakOf is the memory of a process that was resident at most, in bytes.
func peakOf(b *testing.B, pid int) uint64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == "VmHWM:" {
			kb, _ := strconv.ParseUint(words[1], 10, 64)
			return kb * 1024
		}
	}
	return 0
}

// lookBare runs the bare informer of the benchmark of watch/informers.
func lookBare(b *testing.B, informers, kubeconfig string) looked {
	b.Helper()
	command := exec.Command(informers, "-test.run", "^TestSide$", "-test.v")
	command.Env = append(os.Environ(), "KCTL_CTRL_BENCHMARK_SIDE=bare whole "+kubeconfig)
	out, err := command.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if text, found := strings.CutPrefix(line, "side "); found {
			var s struct {
				Synced time.Duration
				Peak   uint64
			}
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				b.Fatal(err)
			}
			return looked{all: s.Synced, peak: s.Peak}
		}
	}
	b.Fatal(errors.New("the bare informer says nothing"))
	return looked{}
}

// podsSandbox starts a sandbox, puts the pods into its etcd, and gives a kubeconfig.
func podsSandbox(b *testing.B) string {
	b.Helper()
	sb, err := sandbox.Start(b.Context(), sandbox.Options{DisableAdmission: []string{"ServiceAccount"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sb.Close(context.Background()) })
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{sb.EtcdEndpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	defer etcd.Close()
	var writing errgroup.Group
	writing.SetLimit(4)
	var batch []clientv3.Op
	written := 0
	for app := 0; written < screenPods; app++ {
		for key, object := range application(app, fmt.Sprintf("ns-%d", app%200)) {
			if !strings.HasPrefix(key, "pods/") {
				continue
			}
			text, err := json.Marshal(object)
			if err != nil {
				b.Fatal(err)
			}
			written++
			if batch = append(batch, clientv3.OpPut("/registry/"+key, string(text))); len(batch) < 100 && written < screenPods {
				continue
			}
			ops := batch
			batch = nil
			writing.Go(func() error {
				_, err := etcd.Txn(b.Context()).Then(ops...).Commit()
				return err
			})
		}
	}
	if err := writing.Wait(); err != nil {
		b.Fatal(err)
	}
	// The pods of a batch have one revision: the server takes its cache for complete with
	// the first of the last, but for a revision after it.
	if _, err := etcd.Put(b.Context(), "/kctl-ctrl/written", ""); err != nil {
		b.Fatal(err)
	}
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	if _, err := sb.WriteKubeconfig(kubeconfig); err != nil {
		b.Fatal(err)
	}
	return kubeconfig
}
