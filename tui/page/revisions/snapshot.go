package revisions

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// remarkSnapshot is said of histories that come from the journal alone.
const remarkSnapshot = "The journal knows names and managing owners: neither numbers, images nor which revision is current."

// snapshotRevisions are the histories as far as informers told of them. Its cost
// is that of the objects with a history and of what they own: it is for a command.
func snapshotRevisions(s *state.Snapshot) []state.RevisionList {
	var out []state.RevisionList
	for _, k := range []struct{ typ, kind, records string }{
		{"daemonsets.apps", "DaemonSet", "controllerrevisions"},
		{"deployments.apps", "Deployment", "replicasets"},
		{"statefulsets.apps", "StatefulSet", "controllerrevisions"},
	} {
		for o := range s.ObjectsOf(k.typ) {
			h := state.RevisionList{Object: o.Ref, ObjectKind: k.kind, PodsKnown: k.kind == "Deployment", Remarks: []string{remarkSnapshot}}
			for record := range s.OwnedBy(o.UID) {
				if record.Resource != k.records {
					continue
				}
				r := state.Revision{Object: record.Ref}
				for pod := range s.OwnedBy(record.UID) {
					if pod.Type() == "pods" {
						r.Pods = append(r.Pods, pod.Name)
					}
				}
				r.PodCount = len(r.Pods)
				h.Items = append(h.Items, r)
			}
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b state.RevisionList) int {
		return cmp.Or(strings.Compare(a.Object.Namespace, b.Object.Namespace), strings.Compare(a.ObjectKind, b.ObjectKind), strings.Compare(a.Object.Name, b.Object.Name))
	})
	return out
}

// historyPrint changes when a history, its revisions or their pods have changed
// in a snapshot.
func historyPrint(s *state.Snapshot, ref state.Ref) uint64 {
	var history page.WatchedObjects
	history.Watch(ref)
	if o := s.Object(ref); o != nil {
		for record := range s.OwnedBy(o.UID) {
			history.Watch(record.Ref)
		}
	}
	return history.Print(s)
}
