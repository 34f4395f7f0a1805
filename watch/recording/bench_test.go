package recording

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// BenchmarkPlayer opens a recording of 1,000,000 entries and goes to random times
// in it: run it with -benchtime=1x, it takes its own number of measurements.
func BenchmarkPlayer(b *testing.B) {
	const entries = 1_000_000
	path := filepath.Join(b.TempDir(), "million.jsonl.zst")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	packed, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		b.Fatal(err)
	}
	encoder := state.NewEncoder(packed, state.Header{Started: base})
	seq := 0
	begin := time.Now()
	for i := 0; seq < entries; i++ {
		for _, e := range busy(i) {
			seq++
			if err := encoder.Encode(state.Entry{Seq: uint64(seq), At: base.Add(time.Duration(seq) * time.Millisecond), Event: e}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := packed.Close(); err != nil {
		b.Fatal(err)
	}
	wrote := time.Since(begin)
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := memory()
		begin = time.Now()
		p := play(b, path)
		b.ReportMetric(time.Since(begin).Seconds(), "s/open")
		b.ReportMetric(float64(memory()-before)/(1<<20), "MiB")
		status := p.Status()
		random := rand.New(rand.NewPCG(1, 2))
		var seeks, steps []time.Duration
		for range 1000 {
			to := status.Start.Add(time.Duration(random.Int64N(int64(status.End.Sub(status.Start)))))
			begin = time.Now()
			if err := p.Seek(to); err != nil {
				b.Fatal(err)
			}
			seeks = append(seeks, time.Since(begin))
			begin = time.Now()
			if err := p.Step(1); err != nil {
				b.Fatal(err)
			}
			steps = append(steps, time.Since(begin))
		}
		quantile := func(d []time.Duration, q float64) float64 {
			return float64(slices.Sorted(slices.Values(d))[int(q*float64(len(d)))]) / 1e6
		}
		b.ReportMetric(quantile(seeks, 0.5), "ms/seek-p50")
		b.ReportMetric(quantile(seeks, 0.99), "ms/seek-p99")
		b.ReportMetric(quantile(steps, 0.99), "ms/step-p99")
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB/file")
		b.ReportMetric(float64(wrote.Microseconds())/entries, "µs/written")
		p.Close()
	}
}
