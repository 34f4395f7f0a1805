package engine

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Guarded makes the guard from the options that depend on the server, and
// returns the wrapper that every transport of the engine gets.
func (e *Engine) Guarded(o guard.Options) (connect.Wrap, error) {
	g, err := guard.New(guard.Options{
		ReadsAsUser: e.spec.Impersonate, ReadsBefore: o.ReadsBefore,
		Mode: o.Mode, Grant: o.Grant, Server: o.Server, BasePath: o.BasePath, TrustsDryRun: o.TrustsDryRun,
		Cause:    e.tap.Cause,
		Recorder: e.journal,
		OnWrite: func(w state.WriteFinished) {
			e.tap.CountWrite(w.Cause)
			if w.Result != state.WriteDone && w.Object.Group == "" && w.Object.Resource == "secrets" {
				e.tap.WithholdErrors(w.Cause)
			}
			e.writes.Finished(w)
			e.boundDry(w)
			if w.Controller == controllernames.HorizontalPodAutoscalerController && w.Subresource == "scale" && w.Result == state.WriteDone {
				e.scalings.Add(1)
			}
			if o.OnWrite != nil {
				o.OnWrite(w)
			}
		},
		Before: e.beforeWrite(o.Before),
		Writer: o.Writer, Local: o.Local,
		Lookup: func(ref state.Ref) runtime.Object {
			manager := e.work.manager.Load()
			// A client of its own has seen another version of an object than our
			// loops: its dry runs start from the server's.
			if manager == nil || o.Writer != nil && o.Mode == state.ModeDryRunClient {
				return nil
			}
			return manager.Lookup(ref)
		},
		Diff: func(ref state.Ref, old, new map[string]any) []state.FieldChange {
			return redact.Diff(ref, old, new, redact.DiffOptions{})
		},
	})
	if err != nil {
		return nil, err
	}
	return func(rt http.RoundTripper) http.RoundTripper {
		rt = e.requests.wrap(e.writes.Wrap(g.Wrap(rt)))
		if o.Writer != nil {
			return rt // the command's watches are its own
		}
		return e.watches.Wrap(rt)
	}, nil
}
