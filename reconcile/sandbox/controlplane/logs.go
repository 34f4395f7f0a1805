package controlplane

import (
	"io"
	"os"
	"sync"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// logSafely writes kube-apiserver's log to standard error through state.InertLog,
// because klog prints multi-line values unchanged. The records of klog.Fatal, by which
// the parent recognises a crash, keep their form.
func logSafely() {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(state.InertLog(os.Stderr))))
	options := []klog.LoggerOption{klog.ContextualLogger(true)}
	if sink, ok := logger.GetSink().(textlogger.KlogBufferWriter); ok {
		options = append(options, klog.WriteKlogBuffer(sink.WriteKlogBuffer))
	}
	klog.SetLoggerWithOptions(logger, options...)
}

// auditTo has the server write its audit log to a file that the parent has opened, as
// upstream's log backend in blocking mode does: one file, complete up to its bound, and no
// request is answered before it is written. The flag would follow symbolic links, append to what
// is there, and leave bare in JSON what a terminal acts on.
func auditTo(file *auditFile, config *app.Config) {
	backend := auditBackend{auditlog.NewBackend(file, auditlog.FormatJson, auditv1.SchemeGroupVersion)}
	config.KubeAPIs.ControlPlane.Generic.AuditBackend = backend
	config.ApiExtensions.GenericConfig.AuditBackend = backend
	config.Aggregator.GenericConfig.AuditBackend = backend
}

// auditBackend does not fail requests when the disk is full, as upstream's blocking
// mode does not.
type auditBackend struct{ audit.Backend }

func (b auditBackend) ProcessEvents(events ...*auditinternal.Event) bool {
	b.Backend.ProcessEvents(events...)
	return true
}

// auditFile takes lines of JSON, in which it escapes what a terminal or the runner of a CI
// system would act on. A line that does not fit its bound is left out, and so is what
// comes after it.
type auditFile struct {
	to   io.Writer
	most int64  // no bound where zero
	full func() // called once

	mu      sync.Mutex
	written int64
	ended   bool
}

// Write implements io.Writer.
func (w *auditFile) Write(p []byte) (int, error) {
	line := state.EscapeJSON(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return len(p), nil
	}
	if w.most > 0 && w.written+int64(len(line)) > w.most {
		w.ended = true
		w.full()
		return len(p), nil
	}
	n, err := w.to.Write(line)
	w.written += int64(n)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
