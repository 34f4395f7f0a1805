package page

import (
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func HealthStyle(h document.Health) widget.Style {
	switch h {
	case document.HealthReady:
		return widget.Good
	case document.HealthProgressing:
		return widget.Warn
	case document.HealthFailed:
		return widget.Bad
	}
	return widget.Text
}

// HasHistory is for the types of Kubernetes that keep revisions of their
// template.
func HasHistory(r state.Ref) bool {
	return r.Group == "apps" && (r.Resource == "deployments" || r.Resource == "statefulsets" || r.Resource == "daemonsets")
}

// KubectlName is what kubectl understands.
func KubectlName(o document.OwnedObject) string {
	if o.Kind == "" {
		return o.Type() + "/" + o.Name
	}
	return render.ObjectName(o)
}

// WatchedObjects are objects whose changes are looked for in each snapshot.
type WatchedObjects struct {
	// types are those of the objects, refs the objects, where they are few.
	types map[string]bool
	refs  []state.Ref
}

// fewRefs is up to how many objects are looked up in each snapshot.
const fewRefs = 500

// Watch adds an object.
func (o *WatchedObjects) Watch(ref state.Ref) {
	if o.types == nil {
		o.types = map[string]bool{}
	}
	o.types[ref.Type()] = true
	if len(o.refs) <= fewRefs {
		o.refs = append(o.refs, ref)
	}
}

// Print changes when the objects, or what they own, have changed in a snapshot. Of
// many it looks at their types only.
func (o *WatchedObjects) Print(s *state.Snapshot) uint64 {
	sum := uint64(14695981039346656037)
	mix := func(text string) {
		for i := range len(text) {
			sum = (sum ^ uint64(text[i])) * 1099511628211
		}
	}
	if len(o.refs) > fewRefs {
		for name, i := range s.Informers.All() {
			if o.types[name] {
				sum += i.Events
			}
		}
		return sum
	}
	for _, ref := range o.refs {
		if now := s.Object(ref); now != nil {
			mix(now.UID)
			mix(now.ResourceVersion)
		}
		for d := range s.OwnedBy(ref.UID) {
			mix(d.UID)
		}
	}
	return sum
}
