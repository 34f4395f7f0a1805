package metrics

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	metricsapi "k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// GroupVersion is what is served.
var GroupVersion = v1beta1.SchemeGroupVersion

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(metricsapi.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(GroupVersion))
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
}

// APIGroup is metrics.k8s.io for an API server that reads itself through client.
func APIGroup(client kubernetes.Interface) *genericapiserver.APIGroupInfo {
	s := source{client: client, now: time.Now}
	group := genericapiserver.NewDefaultAPIGroupInfo(GroupVersion.Group, scheme, runtime.NewParameterCodec(scheme), serializer.NewCodecFactory(scheme))
	group.VersionedResourcesStorageMap[GroupVersion.Version] = map[string]rest.Storage{
		"pods":  &podStorage{storage: newStorage("pods", "pod"), source: s},
		"nodes": &nodeStorage{storage: newStorage("nodes", "node"), source: s},
	}
	return &group
}

// storage is what both resources have in common.
type storage struct {
	rest.TableConvertor
	resource schema.GroupResource
	singular string
}

func newStorage(resource, singular string) storage {
	gr := GroupVersion.WithResource(resource).GroupResource()
	return storage{TableConvertor: rest.NewDefaultTableConvertor(gr), resource: gr, singular: singular}
}

func (s storage) Destroy()                {}
func (s storage) GetSingularName() string { return s.singular }

// selectors are those of a request; list options may be nil.
func selectors(options *internalversion.ListOptions) (label string, field fields.Selector) {
	field = fields.Everything()
	if options == nil {
		return "", field
	}
	if options.LabelSelector != nil {
		label = options.LabelSelector.String()
	}
	if options.FieldSelector != nil {
		field = options.FieldSelector
	}
	return label, field
}

func byName(namespace, name string) fields.Set {
	return fields.Set{"metadata.namespace": namespace, "metadata.name": name}
}

type podStorage struct {
	storage
	source source
}

var (
	_ rest.Storage              = &podStorage{}
	_ rest.Scoper               = &podStorage{}
	_ rest.Getter               = &podStorage{}
	_ rest.Lister               = &podStorage{}
	_ rest.SingularNameProvider = &podStorage{}
)

func (*podStorage) New() runtime.Object     { return &metricsapi.PodMetrics{} }
func (*podStorage) NewList() runtime.Object { return &metricsapi.PodMetricsList{} }
func (*podStorage) NamespaceScoped() bool   { return true }

func (s *podStorage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	label, field := selectors(options)
	found, err := s.source.pods(ctx, request.NamespaceValue(ctx), label)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(m metricsapi.PodMetrics) bool { return !field.Matches(byName(m.Namespace, m.Name)) })
	return &metricsapi.PodMetricsList{Items: found}, nil
}

func (s *podStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := s.source.pods(ctx, request.NamespaceValue(ctx), "")
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Name == name {
			return &found[i], nil
		}
	}
	return nil, apierrors.NewNotFound(s.resource, name)
}

type nodeStorage struct {
	storage
	source source
}

var (
	_ rest.Storage              = &nodeStorage{}
	_ rest.Scoper               = &nodeStorage{}
	_ rest.Getter               = &nodeStorage{}
	_ rest.Lister               = &nodeStorage{}
	_ rest.SingularNameProvider = &nodeStorage{}
)

func (*nodeStorage) New() runtime.Object     { return &metricsapi.NodeMetrics{} }
func (*nodeStorage) NewList() runtime.Object { return &metricsapi.NodeMetricsList{} }
func (*nodeStorage) NamespaceScoped() bool   { return false }

func (s *nodeStorage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	label, field := selectors(options)
	found, err := s.source.nodes(ctx, label)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(m metricsapi.NodeMetrics) bool { return !field.Matches(byName("", m.Name)) })
	return &metricsapi.NodeMetricsList{Items: found}, nil
}

func (s *nodeStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	found, err := s.source.nodes(ctx, "")
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Name == name {
			return &found[i], nil
		}
	}
	return nil, apierrors.NewNotFound(s.resource, name)
}
