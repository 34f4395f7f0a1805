package controlplane

import (
	"os"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// logSafely sends kube-apiserver's log to standard error by way of state.InertLog:
// klog prints values of several lines as they are. The records of klog.Fatal, by which
// the parent knows a crash, keep their form.
func logSafely() {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(state.InertLog(os.Stderr))))
	options := []klog.LoggerOption{klog.ContextualLogger(true)}
	if sink, ok := logger.GetSink().(textlogger.KlogBufferWriter); ok {
		options = append(options, klog.WriteKlogBuffer(sink.WriteKlogBuffer))
	}
	klog.SetLoggerWithOptions(logger, options...)
}

// auditTo has the server write its audit log to a file that the parent has opened, as
// upstream's log backend in blocking mode does: one file, complete, and no request is
// answered before it is written. The flag would follow symbolic links, append to what
// is there, and leave bare in JSON what a terminal acts on.
func auditTo(file *os.File, config *app.Config) {
	backend := auditBackend{auditlog.NewBackend(inertJSON{file}, auditlog.FormatJson, auditv1.SchemeGroupVersion)}
	config.KubeAPIs.ControlPlane.Generic.AuditBackend = backend
	config.ApiExtensions.GenericConfig.AuditBackend = backend
	config.Aggregator.GenericConfig.AuditBackend = backend
}

// auditBackend does not have requests fail for want of room on the disk, as upstream's
// blocking mode does not.
type auditBackend struct{ audit.Backend }

func (b auditBackend) ProcessEvents(events ...*auditinternal.Event) bool {
	b.Backend.ProcessEvents(events...)
	return true
}

// inertJSON escapes in lines of JSON what a terminal or the runner of a CI system
// would act on.
type inertJSON struct{ to *os.File }

// Write implements io.Writer.
func (w inertJSON) Write(p []byte) (int, error) {
	if _, err := w.to.Write(state.EscapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
