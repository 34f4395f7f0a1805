package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// recordFlags say where a session is recorded to.
type recordFlags struct {
	file    string
	force   bool
	maxSize string
	bytes   int64
}

func (r *recordFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&r.file, "record", "", "record the journal to this file too: plain if its name ends in .jsonl, else compressed with zstd")
	r.addBounds(flags)
}

func (r *recordFlags) addBounds(flags *pflag.FlagSet) {
	flags.BoolVar(&r.force, "force", false, "replace a file of that name")
	flags.StringVar(&r.maxSize, "max-size", defaultMaxSize, "end a recording, a journal file, an audit log or what a command prints to a file when it is this large; what follows is counted or noted")
}

func (r *recordFlags) check() error {
	if r.maxSize == "" {
		return nil
	}
	bytes, err := parseMaxSize(r.maxSize)
	r.bytes = bytes
	return err
}

// defaultMaxSize is that of --max-size.
const defaultMaxSize = "1Gi"

func parseMaxSize(text string) (int64, error) {
	size, err := resource.ParseQuantity(text)
	if err != nil || size.Sign() <= 0 {
		return 0, fmt.Errorf("--max-size %q is not a size such as 500Mi", text)
	}
	return size.Value(), nil
}

// recorder is the recording of a session, or none.
type recorder struct {
	writer *recording.Writer
}

// start begins to record where a file is named.
func (r *recordFlags) start(e *engine.Engine) (*recorder, error) {
	if r.file == "" {
		return &recorder{}, nil
	}
	writer, err := recording.Start(e.Journal(), r.file, recording.WriterOptions{Version: about.Version().Version, Replace: r.force, MaxBytes: r.bytes})
	if errors.Is(err, recording.ErrExists) {
		err = fmt.Errorf("%w: --force replaces it", err)
	}
	if err != nil {
		return nil, err
	}
	noteFailure(e.Journal(), writer)
	return &recorder{writer: writer}, nil
}

// noteFailure puts it into the journal when a recording ends before its session: who
// looks at the journal may need what is not recorded any more.
func noteFailure(journal *hub.Hub, writer *recording.Writer) {
	go func() {
		<-writer.Done()
		if err := writer.Stats().Err; err != nil {
			journal.Record(state.Note{Source: "recording", Warning: true, Text: err.Error() + ": nothing more is recorded"})
		}
	}()
}

// wait ends the recording. The session's hub is closed then, or about to be.
func (r *recorder) wait() {
	if r.writer != nil {
		_ = r.writer.Close() // report says it
	}
}

// report says on out what became of the recording.
func (r *recorder) report(out io.Writer) error {
	if r.writer == nil {
		return nil
	}
	stats := r.writer.Stats()
	if stats.Dropped > 0 {
		reason := "the disk did not keep up"
		if stats.Full {
			reason = "it reached --max-size"
		}
		fmt.Fprintf(out, "warning: %d entries are not in the recording: %s\n", stats.Dropped, reason)
	}
	if stats.Err != nil {
		return stats.Err
	}
	fmt.Fprintf(out, "recorded %d entries in %s: 'replay %s' plays them\n", stats.Entries, printing.Size(stats.Bytes), stats.Path)
	return nil
}

// recordFollower says how far a recording is, in one line.
type recordFollower struct{ done chan struct{} }

// follow shows the progress until the recording ends. One that ends before its
// session, because the disk failed, ends that too.
func (r *recorder) follow(streams genericiooptions.IOStreams, end context.CancelCauseFunc) follower {
	f := recordFollower{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		line := console.NewStatusLine(streams.ErrOut)
		defer line.Done()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-r.writer.Done():
				if err := r.writer.Stats().Err; err != nil {
					end(err)
				}
				return
			case <-ticker.C:
				stats := r.writer.Stats()
				text := fmt.Sprintf("recording to %s: %d entries, %s", stats.Path, stats.Entries, printing.Size(stats.Bytes))
				if stats.Dropped > 0 {
					text += fmt.Sprintf(", %d dropped", stats.Dropped)
				}
				line.Line(text)
			}
		}
	}()
	return f
}

func (f recordFollower) wait() { <-f.done }

func (recordFollower) summary(*engine.Engine) error { return nil }
