package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// BenchmarkInterrupt says how long it takes from Ctrl-C to the first word of run, or
// to the terminal as it was, and to the end.
func BenchmarkInterrupt(b *testing.B) {
	const times = 20
	var word, screen, runEnd, screenEnd []time.Duration
	for b.Loop() {
		for range times {
			command := program(b, "run", "--sandbox", "--nodes=0", "--controllers=deployment,replicaset")
			out, in, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			command.Stdout, command.Stderr = in, in
			if err := command.Start(); err != nil {
				b.Fatal(err)
			}
			_ = in.Close()
			var said bytes.Buffer
			programtest.ReadUntil(b, out, &said, "2 controllers run")
			begin := time.Now()
			_ = command.Process.Signal(os.Interrupt)
			programtest.ReadUntil(b, out, &said, "stopping the loops")
			word = append(word, time.Since(begin))
			_, _ = io.Copy(io.Discard, out)
			_ = command.Wait()
			runEnd = append(runEnd, time.Since(begin))

			x := onTerminalAs(b, []string{"HOME=" + b.TempDir()}, 100, 30, "tui", "--sandbox", "--nodes=0", "--controllers=deployment,replicaset")
			x.shows("2 of 49 running")
			begin = time.Now()
			x.press("<ctrl-c>")
			x.writes("\x1b[?1049l")
			screen = append(screen, time.Since(begin))
			x.ends()
			screenEnd = append(screenEnd, time.Since(begin))
		}
	}
	for name, all := range map[string][]time.Duration{"run-word": word, "run-end": runEnd, "tui-terminal": screen, "tui-end": screenEnd} {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-median-ms")
		b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, name+"-slowest-ms")
	}
	b.ReportMetric(0, "ns/op")
}
