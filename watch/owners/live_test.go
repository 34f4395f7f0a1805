package owners

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

func object(kind, name, uid, version string, owners ...document.OwnerRef) *Object {
	o := &Object{version: version}
	o.Kind, o.Name, o.Namespace, o.UID, o.Owners = kind, name, "shop", uid, owners
	return o
}

func keep(o *Object) *kept { return &kept{ObjectMeta: metav1.ObjectMeta{Name: o.Name}, Object: o} }

// woken reports whether Wait has something to return for.
func (l *Live) woken() bool {
	select {
	case <-l.changed:
		return true
	default:
		return false
	}
}

// A redraw costs a graph of everything in the namespace, so that only what
// concerns the trees on show may ask for one; and all of that must.
func TestLiveWakesForWhatIsShown(t *testing.T) {
	web := object("Deployment", "web", "web", "1", document.OwnerRef{Kind: "App", Name: "shop", UID: "app"})
	pod := object("Pod", "web-1", "pod", "1", document.OwnerRef{Kind: "Deployment", Name: "web", UID: "web"})
	trees := []*document.OwnerNode{{Object: web.OwnedObject}}
	l := &Live{changed: make(chan struct{}, 1), kinds: &Kinds{}, objects: map[string]*Object{"web": web}}
	l.Show(trees)

	// In this order: each change is made to what the ones before it left.
	for _, c := range []struct {
		name   string
		change func()
		wakes  bool
	}{
		{"the same again", func() { l.put(keep(web)) }, false},
		{"a member", func() { l.put(keep(object("Deployment", "web", "web", time.Now().String(), web.Owners...))) }, true},
		{"a stranger", func() { l.put(keep(object("Pod", "other", "other", "1"))) }, false},
		{"a stranger that goes", func() { l.remove(keep(object("Pod", "other", "other", "1"))) }, false},
		{"a dependant", func() { l.put(keep(pod)) }, true},
		{"an owner", func() { l.remove(keep(object("App", "shop", "app", "1"))) }, true},
		{"another in the owner's place", func() { l.put(keep(object("App", "shop", "app-2", "1"))) }, true},
	} {
		if c.change(); l.woken() != c.wakes {
			t.Errorf("%s: woken %v", c.name, !c.wakes)
		}
	}

	// A dependant of an object that is drawn, but not yet said to be on show.
	l.Show(trees)
	_ = l.Graph()
	l.put(keep(object("Container", "c", "c", "1", document.OwnerRef{Kind: "Pod", Name: "web-1", UID: "pod"})))
	if l.woken() {
		t.Error("woken for what is below an object that was not shown")
	}
	l.Show([]*document.OwnerNode{{Object: web.OwnedObject, Dependents: []*document.OwnerNode{{Object: pod.OwnedObject}}}})
	if !l.woken() {
		t.Error("a dependant that came during the drawing was missed")
	}

	// Nothing is remembered of a busy namespace between two drawings.
	l.put(keep(object("Pod", "other", "other", "7")))
	if len(l.since) > 0 {
		t.Errorf("kept %d changes", len(l.since))
	}
}
