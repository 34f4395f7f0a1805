package informers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// source reads one type from the API server.
type source interface {
	list(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	get(ctx context.Context, namespace, name string) (runtime.Object, error)
}

// clients create sources. They share one connection to the server.
type clients struct {
	config   *rest.Config
	http     *http.Client
	metadata metadata.Interface
	dynamic  dynamic.Interface
}

func newClients(config *rest.Config) (*clients, error) {
	c := &clients{config: config}
	var err error
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	if c.metadata, err = metadata.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	return c, nil
}

// source reads metadata or complete objects: built-in types as Go structs, received as
// protobuf in a fraction of the time and memory of maps; all others as maps. Secrets
// are maps, so that their values can be removed.
func (c *clients) source(t owners.Type, namespace string, contents Contents) (source, error) {
	gvr := schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
	kind := gvr.GroupVersion().WithKind(t.Kind)
	switch {
	case contents != Whole:
		return metadataSource{c.metadata.Resource(gvr), namespace}, nil
	case isSecret(t) || t.Kind == "" || !scheme.Scheme.Recognizes(kind) || !scheme.Scheme.Recognizes(listOf(kind)):
		return dynamicSource{c.dynamic.Resource(gvr), namespace}, nil
	}
	client, err := c.rest(gvr.GroupVersion(), true)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", t, err)
	}
	return typedSource{client, t, kind, namespace}, nil
}

// rest returns a client with the paths of a group and version.
func (c *clients) rest(gv schema.GroupVersion, protobuf bool) (rest.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.GroupVersion, config.APIPath = &gv, "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, ""
	if protobuf {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return rest.RESTClientForConfigAndClient(config, c.http)
}

func isSecret(t owners.Type) bool { return t.Group == "" && t.Resource == "secrets" }

func listOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	return kind.GroupVersion().WithKind(kind.Kind + "List")
}

type metadataSource struct {
	client    metadata.Getter
	namespace string
}

func (s metadataSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := s.client.Namespace(s.namespace).List(ctx, o)
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s metadataSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return s.client.Namespace(s.namespace).Watch(ctx, o)
}

func (s metadataSource) get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	o, err := s.client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return o, nil
}

type dynamicSource struct {
	client    dynamic.NamespaceableResourceInterface
	namespace string
}

func (s dynamicSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := s.client.Namespace(s.namespace).List(ctx, o)
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s dynamicSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return s.client.Namespace(s.namespace).Watch(ctx, o)
}

func (s dynamicSource) get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	o, err := s.client.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return o, nil
}

type typedSource struct {
	client    rest.Interface
	typ       owners.Type
	kind      schema.GroupVersionKind
	namespace string
}

func (s typedSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := scheme.Scheme.New(listOf(s.kind))
	if err != nil {
		return nil, err
	}
	err = s.client.Get().NamespaceIfScoped(s.namespace, s.namespace != "").Resource(s.typ.Resource).
		VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Into(list)
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s typedSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	var timeout time.Duration
	if o.TimeoutSeconds != nil {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	return s.client.Get().NamespaceIfScoped(s.namespace, s.namespace != "").Resource(s.typ.Resource).
		VersionedParams(&o, scheme.ParameterCodec).Timeout(timeout).Watch(ctx)
}

func (s typedSource) get(ctx context.Context, namespace, name string) (runtime.Object, error) {
	o, err := scheme.Scheme.New(s.kind)
	if err != nil {
		return nil, err
	}
	err = s.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(s.typ.Resource).Name(name).Do(ctx).Into(o)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// content returns an object as a map with apiVersion and kind. It shares nothing with
// the object that may be modified, except for the contents of an Unstructured.
func content(o any, kind schema.GroupVersionKind) map[string]any {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.Object
	}
	object, ok := o.(runtime.Object)
	if !ok {
		return nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	if kind.Kind != "" {
		m["apiVersion"], m["kind"] = kind.GroupVersion().String(), kind.Kind
	}
	return m
}
