package engineflags

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
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/follow"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Recording say where a session is recorded to.
type Recording struct {
	File    string
	Force   bool
	maxSize string
	Bytes   int64
}

// AddTo registers the flags.
func (r *Recording) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&r.File, "record", "", "record the journal to this file too: plain if its name ends in .jsonl, else compressed with zstd")
	r.AddBounds(flags)
}

// AddBounds registers those that are not the name of the file.
func (r *Recording) AddBounds(flags *pflag.FlagSet) {
	flags.BoolVar(&r.Force, "force", false, "replace a file of that name")
	flags.StringVar(&r.maxSize, "max-size", defaultMaxSize, "end a recording, a journal file, an audit log or what a command prints to a file when it is this large; what follows is counted or noted")
}

// Check reads --max-size.
func (r *Recording) Check() error {
	if r.maxSize == "" {
		return nil
	}
	bytes, err := parseMaxSize(r.maxSize)
	r.Bytes = bytes
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

// Recorder is the recording of a session, or none.
type Recorder struct {
	Writer *recording.Writer
}

// Start begins to record where a file is named.
func (r *Recording) Start(e *engine.Engine) (*Recorder, error) {
	if r.File == "" {
		return &Recorder{}, nil
	}
	writer, err := recording.Start(e.Journal(), r.File, recording.WriterOptions{Version: about.Version().Version, Replace: r.Force, MaxBytes: r.Bytes})
	if errors.Is(err, recording.ErrExists) {
		err = fmt.Errorf("%w: --force replaces it", err)
	}
	if err != nil {
		return nil, err
	}
	NoteFailure(e.Journal(), writer)
	return &Recorder{Writer: writer}, nil
}

// NoteFailure puts it into the journal when a recording ends before its session: who
// looks at the journal may need what is not recorded any more.
func NoteFailure(journal *hub.Hub, writer *recording.Writer) {
	go func() {
		<-writer.Done()
		if err := writer.Stats().Err; err != nil {
			journal.Record(state.Note{Source: "recording", Warning: true, Text: err.Error() + ": nothing more is recorded"})
		}
	}()
}

// Wait ends the recording. The session's hub is closed then, or about to be.
func (r *Recorder) Wait() {
	if r.Writer != nil {
		_ = r.Writer.Close() // report says it
	}
}

// Report says on out what became of the recording.
func (r *Recorder) Report(out io.Writer) error {
	if r.Writer == nil {
		return nil
	}
	stats := r.Writer.Stats()
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

// Follow shows the progress until the recording ends. One that ends before its
// session, because the disk failed, ends that too.
func (r *Recorder) Follow(streams genericiooptions.IOStreams, end context.CancelCauseFunc) follow.Follower {
	f := recordFollower{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		line := console.NewStatusLine(streams.ErrOut)
		defer line.Done()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-r.Writer.Done():
				if err := r.Writer.Stats().Err; err != nil {
					end(err)
				}
				return
			case <-ticker.C:
				stats := r.Writer.Stats()
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

// Wait implements follow.Follower.
func (f recordFollower) Wait() { <-f.done }

// Summary implements follow.Follower: report says it.
func (recordFollower) Summary(*engine.Engine) error { return nil }
