package tap

import (
	"context"

	"github.com/go-logr/logr"
)

// Logger returns base with an ear: an error that a controller logs while its
// goroutine is in a sync marks that sync as failed; see Report. Upstream's
// controllers say so in two ways, by Error and by an Info at level 2 or below
// with the error under "err" or "error". Base gets what it would get without.
func (t *Tap) Logger(base logr.Logger) logr.Logger {
	s := &sink{tap: t, base: base.GetSink()}
	if s.base == nil { // logr.Discard()
		return logr.New(s)
	}
	return base.WithSink(s.withDepth(1))
}

// ErrorHandler reports err to the sync that the calling goroutine is in. It
// fits into utilruntime.ErrorHandlers of apimachinery@v0.37.1, which is where
// controllers leave the errors they do not return.
func (t *Tap) ErrorHandler(_ context.Context, err error, _ string, _ ...any) { t.Report(err) }

// listenLevel is the highest verbosity at which upstream logs why a sync
// failed (deployment, daemonset, statefulset and others: 2). Above it the
// logger costs what base costs.
const listenLevel = 2

// sink passes everything to base, which may be nil, and listens on the way.
// Values of WithValues are not looked at: an error there is not this call's.
type sink struct {
	tap  *Tap
	base logr.LogSink
}

var _ logr.CallDepthLogSink = (*sink)(nil)

// Init does nothing: base was initialised by its own logger.
func (s *sink) Init(logr.RuntimeInfo) {}

func (s *sink) Enabled(level int) bool {
	if s.base != nil && s.base.Enabled(level) {
		return true
	}
	return level <= listenLevel && s.tap.sync() != nil
}

func (s *sink) Info(level int, msg string, keysAndValues ...any) {
	if level <= listenLevel {
		if r := s.tap.sync(); r != nil {
			if err := errorIn(keysAndValues); err != nil {
				r.report(err)
			}
		}
	}
	if s.base != nil && s.base.Enabled(level) {
		s.base.Info(level, msg, withoutSecrets(keysAndValues)...)
	}
}

func (s *sink) Error(err error, msg string, keysAndValues ...any) {
	s.tap.Report(err)
	if s.base != nil {
		if shown := withoutSecrets([]any{"", err}); err != nil {
			err, _ = shown[1].(error)
		}
		s.base.Error(err, msg, withoutSecrets(keysAndValues)...)
	}
}

func (s *sink) WithValues(keysAndValues ...any) logr.LogSink {
	if s.base == nil {
		return s
	}
	return &sink{tap: s.tap, base: s.base.WithValues(keysAndValues...)}
}

func (s *sink) WithName(name string) logr.LogSink {
	if s.base == nil {
		return s
	}
	return &sink{tap: s.tap, base: s.base.WithName(name)}
}

func (s *sink) WithCallDepth(depth int) logr.LogSink { return s.withDepth(depth) }

func (s *sink) withDepth(depth int) *sink {
	if d, ok := s.base.(logr.CallDepthLogSink); ok {
		return &sink{tap: s.tap, base: d.WithCallDepth(depth)}
	}
	return s
}

// errorIn returns the error that a log call carries.
func errorIn(keysAndValues []any) error {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		switch keysAndValues[i] {
		case "err", "error":
			if err, ok := keysAndValues[i+1].(error); ok {
				return err
			}
		}
	}
	return nil
}
