package fakeapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
)

// Answer is what an API server would say of a write.
type Answer struct {
	Code int
	// Object is the body where it is not a bare Status of success.
	Object wire.Object
	// Old is what Object is to be compared with; nil for a create.
	Old wire.Object
	// UID is the object's, where the body does not say it.
	UID string
	// Act is the body of a write that makes no object: a binding, an eviction.
	Act wire.Object
}

// Base gives the object that a write starts from. live says that it was read from the
// server just now, and not from a cache, which may be behind the writer.
type Base func() (o wire.Object, live bool, err error)

// API answers writes in place of an API server.
type API struct {
	// Kinds are the built-in types, by their resources.
	Kinds map[schema.GroupVersionResource]schema.GroupVersionKind
	// Now dates what is created.
	Now func() time.Time
}

// Answer makes the answer to a write. Its errors are API errors, or those of base.
func (a API) Answer(r request.Request, media string, body []byte, base Base) (Answer, error) {
	switch r.Verb {
	case "create":
		return a.create(r, media, body, base)
	case "update":
		return a.update(r, media, body, base)
	case "patch", "apply":
		return a.patch(r, media, body, base)
	case "delete":
		return a.delete(r, media, body, base)
	default: // deletecollection
		if _, err := wire.DecodeDeleteOptions(media, body); err != nil {
			return Answer{}, apierrors.NewBadRequest(err.Error())
		}
		return Answer{Code: http.StatusOK}, nil
	}
}

// create answers a POST.
func (a API) create(r request.Request, media string, body []byte, base Base) (Answer, error) {
	if r.Subresource != "" || r.Object.Resource == "bindings" && r.Object.Group == "" {
		return a.act(r, media, body, base)
	}
	o, err := wire.Decode(media, body)
	if err != nil {
		return Answer{}, apierrors.NewBadRequest(fmt.Sprintf("decode the %s to create: %v", r.Object.Resource, err))
	}
	name, err := a.nameFor(o, r)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Code: http.StatusCreated, Object: a.created(o, r, name)}, nil
}

// nameFor is the name in the wire.Object, or one made from generateName by
// upstream's rule (k8s.io/apiserver v0.37.1 pkg/storage/names).
func (a API) nameFor(o wire.Object, r request.Request) (string, error) {
	h := wire.HeadOf(o)
	switch {
	case r.Object.Namespace != "" && h.Namespace != "" && h.Namespace != r.Object.Namespace:
		return "", apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case h.Name != "":
		return h.Name, nil
	case h.GenerateName != "":
		const longest = 63 - 5
		return h.GenerateName[:min(len(h.GenerateName), longest)] + rand.String(5), nil
	default:
		return "", apiError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "name or generateName is required")
	}
}

// created is an object as the API server answers its creation, without
// defaulting and admission. It has no resourceVersion.
func (a API) created(o wire.Object, r request.Request, name string) wire.Object {
	out := wire.WithMeta(o, func(m wire.Object) {
		m["name"] = name
		m["namespace"] = r.Object.Namespace
		m["uid"] = string(uuid.NewUUID())
		m["creationTimestamp"] = a.Now().UTC().Format(time.RFC3339)
		m["generation"] = int64(1)
		for _, field := range []string{"resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"} {
			delete(m, field)
		}
	})
	delete(out, "status")
	if gvk, known := a.Kinds[wire.GVR(r.Object)]; known && out["kind"] == nil {
		out["apiVersion"], out["kind"] = gvk.ToAPIVersionAndKind() // the server takes a body without
	}
	return out
}

// act answers the creates that make no object: eviction and binding.
func (a API) act(r request.Request, media string, body []byte, base Base) (Answer, error) {
	o, err := wire.Decode(media, body)
	if err != nil {
		return Answer{}, apierrors.NewBadRequest(fmt.Sprintf("decode the %s to create: %v", r.Subresource, err))
	}
	if r.Subresource == "" { // the old form of a binding names its pod inside
		if wire.HeadOf(o).Name == "" {
			return Answer{}, apierrors.NewBadRequest("the binding names no pod")
		}
		return Answer{Code: http.StatusCreated}, nil
	}
	pod, _, err := base()
	if err != nil {
		return Answer{}, err
	}
	return Answer{Code: http.StatusCreated, UID: wire.MetaString(pod, "uid"), Act: o}, nil
}

// update answers a PUT: what was sent, with what the API server would not let
// it change.
func (a API) update(r request.Request, media string, body []byte, base Base) (Answer, error) {
	sent, err := wire.Decode(media, body)
	if err != nil {
		return Answer{}, apierrors.NewBadRequest(fmt.Sprintf("decode the %s to update: %v", r.Object.Resource, err))
	}
	from, live, err := base()
	if err != nil {
		return Answer{}, err
	}
	if err := checkPreconditions(r, from, live, wire.MetaString(sent, "uid"), wire.MetaString(sent, "resourceVersion")); err != nil {
		return Answer{}, err
	}
	return Answer{Code: http.StatusOK, Object: a.updated(r, from, sent, wire.MetaString(sent, "resourceVersion")), Old: from}, nil
}

// updated merges sent into base as the strategy of the resource does: each
// subresource has its field, and the object itself everything but status.
// resourceVersion is the one to answer with.
func (a API) updated(r request.Request, base, sent wire.Object, resourceVersion string) wire.Object {
	var out wire.Object
	edit := func(m wire.Object) {
		m["resourceVersion"] = resourceVersion
		for _, field := range []string{"uid", "creationTimestamp", "generation", "name", "namespace"} {
			if v, has := wire.Meta(base)[field]; has {
				m[field] = v
			}
		}
	}
	switch r.Subresource {
	case "status", "approval":
		out = wire.WithMeta(base, edit)
		out["status"] = sent["status"]
	case "finalize":
		out = wire.WithMeta(base, edit)
		out["spec"] = sent["spec"]
	case "scale":
		out = wire.WithMeta(sent, edit)
		out["status"] = base["status"]
	default:
		out = wire.WithMeta(sent, func(m wire.Object) {
			edit(m)
			if generation, has := m["generation"].(int64); has && !reflect.DeepEqual(sent["spec"], base["spec"]) {
				m["generation"] = generation + 1
			}
		})
		// A custom resource may have no status subresource: then the object
		// carries it.
		if _, builtin := a.Kinds[wire.GVR(r.Object)]; builtin {
			out["status"] = base["status"]
		}
	}
	if out["status"] == nil {
		delete(out, "status")
	}
	out["apiVersion"], out["kind"] = base["apiVersion"], base["kind"]
	return out
}

// checkPreconditions compares what a write expects of the object with base. A
// resourceVersion is compared with a live object only: the cache may be behind
// the writer.
func checkPreconditions(r request.Request, base wire.Object, live bool, uid, resourceVersion string) error {
	h := wire.HeadOf(base)
	switch {
	case uid != "" && h.UID != "" && uid != h.UID:
		//lint:ignore ST1005 these are the API server's own words
		mismatch := fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, h.UID)
		return apierrors.NewConflict(groupResource(r), r.Object.Name, mismatch)
	case live && resourceVersion != "" && h.ResourceVersion != "" && resourceVersion != h.ResourceVersion:
		return apierrors.NewConflict(groupResource(r), r.Object.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	default:
		return nil
	}
}

// delete answers a DELETE of one object.
func (a API) delete(r request.Request, media string, body []byte, base Base) (Answer, error) {
	options, err := wire.DecodeDeleteOptions(media, body)
	if err != nil {
		return Answer{}, apierrors.NewBadRequest(err.Error())
	}
	from, live, err := base()
	if err != nil {
		return Answer{}, err
	}
	if p := options.Preconditions; p != nil {
		var uid, resourceVersion string
		if p.UID != nil {
			uid = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			resourceVersion = *p.ResourceVersion
		}
		if err := checkPreconditions(r, from, live, uid, resourceVersion); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Code: http.StatusOK, UID: wire.MetaString(from, "uid")}, nil
}

// apiError is an error that apimachinery has no constructor for.
func apiError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func groupResource(r request.Request) schema.GroupResource {
	return schema.GroupResource{Group: r.Object.Group, Resource: r.Object.Resource}
}
