package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/fakeapi"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Preview is what a write would do.
type Preview struct {
	// Diff are the fields it changes, or, of a create, sets. It is empty for a
	// delete and for a write that makes no object, such as an eviction.
	Diff []state.FieldChange
	// Approximate: the diff is made without the server's defaulting and
	// admission.
	Approximate bool
	// ResourceVersion and UID are those of the object that the write starts
	// from; empty where there is none.
	ResourceVersion, UID string
}

// Preview says what the write would do if it were made now, by the rules of
// dry-run=client: from what Lookup knows, else from one GET. Its error says why
// that cannot be told; the write itself may be answered otherwise.
func (p Pending) Preview(ctx context.Context) (Preview, error) {
	return p.preview(ctx, p.via)
}

func (p Pending) preview(ctx context.Context, via *transport) (Preview, error) {
	w := p.write
	req, err := readAhead(ctx, w.http)
	if err != nil {
		return Preview{}, err
	}
	var out Preview
	if startsFromObject(w.request) {
		base, _, err := via.base(req, w.request)
		if err != nil && (w.request.Verb != "apply" || !apierrors.IsNotFound(err)) {
			return Preview{}, err
		}
		out.ResourceVersion, out.UID = wire.MetaString(base, "resourceVersion"), wire.MetaString(base, "uid")
	}
	body, err := readBody(req, w.guard.maxBody)
	if err != nil {
		return out, err
	}
	a, err := via.invent(req, w.request, body)
	if err != nil {
		return out, err
	}
	out.Diff = w.guard.places(w.request, a.Act)
	if a.Object != nil && w.guard.diff != nil {
		out.Diff, out.Approximate = w.guard.diff(p.Object(), a.Old, p.asSent(a)), true
	}
	return out, nil
}

// asSent is what is to be, without what the answer makes up for a create.
func (p Pending) asSent(a fakeapi.Answer) wire.Object {
	if a.Old != nil {
		return a.Object
	}
	named := p.Object().Name != ""
	return wire.WithMeta(a.Object, func(m wire.Object) {
		for _, field := range []string{"uid", "creationTimestamp", "generation"} {
			delete(m, field)
		}
		if !named {
			delete(m, "name")
		}
	})
}

// startsFromObject reports whether a write is about an object that is there.
func startsFromObject(r request.Request) bool {
	return r.Object.Name != "" && r.Verb != "deletecollection"
}

// readAhead is a copy of a request whose body may be read.
func readAhead(ctx context.Context, req *http.Request) (*http.Request, error) {
	out := req.Clone(ctx)
	if req.Body == nil || req.Body == http.NoBody {
		return out, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("its body can be read only once")
	}
	var err error
	out.Body, err = req.GetBody()
	return out, err
}

// Unchanged returns an error where the write would not do any more what preview
// said. It reads the object from the server, and compares:
//
//   - of a patch, the fields that it changes: others may have changed. Where
//     these cannot be shown whole, as those of a Secret, or none is shown, the
//     resourceVersion;
//   - of a delete and an eviction, uid and resourceVersion, with the cache where
//     the server may not be asked;
//   - of a create, that of an apply among them, whether the controller that its
//     object names as its owner is still there;
//   - nothing of the delete of a collection, and of an update that carries its
//     resourceVersion: the server compares that itself.
//
// A moment remains between this and the server.
func (p Pending) Unchanged(ctx context.Context, was Preview) error {
	w := p.write
	fresh := &transport{guard: w.guard, next: p.via.next, fresh: true}
	switch {
	case !startsFromObject(w.request) && w.request.Verb == "create":
		return p.ownerStands(ctx, fresh)
	case !startsFromObject(w.request):
		return nil
	case w.request.Verb == "update" && p.sentVersion() != "":
		return nil
	}
	now, err := p.preview(ctx, fresh)
	if apierrors.IsForbidden(err) {
		now, err = p.preview(ctx, p.via)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil // the server says so itself
	case apierrors.IsConflict(err):
		return errors.New("the object has changed meanwhile")
	case err != nil:
		return fmt.Errorf("read it once more: %w", err)
	case now.UID != was.UID:
		return errors.New("another object has its name now")
	case now.UID == "" && w.request.Verb == "apply":
		if err := p.ownerStands(ctx, fresh); err != nil {
			return err
		}
	}
	switch w.request.Verb {
	case "update", "patch", "apply":
		switch {
		case !slices.Equal(now.Diff, was.Diff):
			return errors.New("the fields that it changes have changed meanwhile")
		case len(now.Diff) > 0 && !isSecret(w.request.Object) && !abridged(now.Diff):
			return nil
		}
	}
	if now.ResourceVersion != was.ResourceVersion {
		return fmt.Errorf("the object has changed meanwhile (rv %s→%s)", was.ResourceVersion, now.ResourceVersion)
	}
	return nil
}

// abridged reports whether a diff leaves something out, as redact.Diff does of
// what is long or secret: two that are equal may then hide a difference.
func abridged(diff []state.FieldChange) bool {
	return slices.ContainsFunc(diff, func(c state.FieldChange) bool {
		return strings.Contains(c.Path+c.Old+c.New, "…(+") || strings.Contains(c.Old+c.New, redact.Hidden)
	})
}

// sentVersion is the resourceVersion in the body of an update.
func (p Pending) sentVersion() string {
	media, body := p.write.requestBody()
	if body == nil {
		return ""
	}
	return wire.ReadHead(media, body).ResourceVersion
}
