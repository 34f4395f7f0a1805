package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/fakeapi"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// owner is what an object says of the controller that it belongs to.
type owner struct{ apiVersion, kind, name, uid string }

func (o owner) String() string { return o.kind + " " + o.name }

// controllerOwner is the owner of an object that has controller: true, as
// metav1.GetControllerOf.
func controllerOwner(o wire.Object) (owner, bool) {
	references, _ := wire.Meta(o)["ownerReferences"].([]any)
	for _, reference := range references {
		r, _ := reference.(wire.Object)
		if controls, _ := r["controller"].(bool); !controls {
			continue
		}
		text := func(field string) string { s, _ := r[field].(string); return s }
		return owner{text("apiVersion"), text("kind"), text("name"), text("uid")}, true
	}
	return owner{}, false
}

// ownerStands returns an error unless the controller that the object of a create
// names as its owner is there under that UID: what is made for one that is gone is
// deleted again at best, and at worst is taken by another. An owner that cannot be
// read is not there.
func (p Pending) ownerStands(ctx context.Context, via *transport) error {
	w := p.write
	req, err := readAhead(ctx, w.http)
	if err != nil {
		return fmt.Errorf("its owner cannot be told: %w", err)
	}
	body, err := readBody(req, w.guard.maxBody)
	if err != nil {
		return fmt.Errorf("its owner cannot be told: %w", err)
	}
	decode := wire.Decode
	if w.request.Verb == "apply" {
		decode = fakeapi.DecodeApplied
	}
	o, err := decode(request.MediaType(req.Header), body)
	if err != nil {
		return fmt.Errorf("its owner cannot be told: %w", err)
	}
	of, owned := controllerOwner(o)
	if !owned {
		return nil
	}
	found, err := via.owner(req, of, w.request.Object.Namespace)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("its owner %s is gone", of)
	case err != nil:
		return fmt.Errorf("its owner %s cannot be read: %w", of, err)
	case wire.MetaString(found, "uid") != of.uid:
		return fmt.Errorf("its owner %s is gone, and another has its name now", of)
	}
	return nil
}

// owner reads the owner of an object in a namespace; from the cache only where the
// server may not be asked.
func (t *transport) owner(req *http.Request, of owner, namespace string) (wire.Object, error) {
	gv, err := schema.ParseGroupVersion(of.apiVersion)
	if err != nil {
		return nil, err
	}
	if of.name == "" || of.name == "." || of.name == ".." || strings.ContainsAny(of.name, "/%") {
		return nil, errors.New("that is no name")
	}
	at := []string{"apis", gv.Group, gv.Version}
	if gv.Group == "" {
		at = []string{"api", gv.Version}
	}
	root := &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: t.guard.basePath}
	resource, namespaced, err := t.resourceOf(req, root.JoinPath(at...), of)
	if err != nil {
		return nil, err
	}
	ref := state.Ref{Group: gv.Group, Version: gv.Version, Resource: resource, Name: of.name}
	if namespaced {
		if namespace == "" {
			return nil, errors.New("it is in a namespace, and what it would own is in none")
		}
		ref.Namespace = namespace
		at = append(at, "namespaces", namespace)
	}
	found, err := t.fetch(req, root.JoinPath(append(at, resource, of.name)...), request.Request{Verb: "get", Object: ref})
	if apierrors.IsForbidden(err) {
		if cached, held := t.guard.lookUp(ref); held {
			return cached, nil
		}
	}
	return found, err
}

// resourceOf asks the server how it calls a kind, and whether it is in namespaces.
func (t *transport) resourceOf(req *http.Request, groupVersion *url.URL, of owner) (name string, namespaced bool, err error) {
	list, err := t.fetch(req, groupVersion, request.Request{Verb: "get", Object: state.Ref{Resource: "apiresources", Name: of.apiVersion}})
	if err != nil {
		return "", false, err
	}
	resources, _ := list["resources"].([]any)
	for _, resource := range resources {
		r, _ := resource.(wire.Object)
		name, _ := r["name"].(string)
		if r["kind"] != of.kind || name == "" || strings.Contains(name, "/") { // subresources have kinds, too
			continue
		}
		namespaced, _ := r["namespaced"].(bool)
		return name, namespaced, nil
	}
	return "", false, fmt.Errorf("the server does not serve %s of %s", of.kind, of.apiVersion)
}
