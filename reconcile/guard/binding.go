package guard

import (
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// binds reports whether a request gives a pod a node.
func binds(r request.Request) bool {
	return r.Verb == "create" && r.Object.Group == "" && r.Object.Resource == "pods" && r.Subresource == "binding"
}

// places is what a binding changes of its pod. The answer to it is a bare Status,
// which does not say.
func (g *Guard) places(r request.Request, binding wire.Object) []state.FieldChange {
	target, _ := binding["target"].(wire.Object)
	node, _ := target["name"].(string)
	if !binds(r) || node == "" || g.diff == nil {
		return nil
	}
	return g.diff(r.Object, wire.Object{}, wire.Object{"spec": wire.Object{"nodeName": node}})
}
