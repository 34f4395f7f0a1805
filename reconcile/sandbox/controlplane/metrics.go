package controlplane

import (
	"fmt"
	"maps"
	_ "unsafe" // for go:linkname

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/client-go/kubernetes"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/metrics"
)

// metricsPriority is that of metrics-server's APIService: "pods" without a group are
// those of the core group.
var metricsPriority = controlplaneapiserver.APIServicePriority{Group: 100, Version: 100}

// apiVersionPriorities is
// k8s.io/kubernetes/cmd/kube-apiserver/app.apiVersionPriorities (v1.37.1).
//
//go:linkname apiVersionPriorities k8s.io/kubernetes/cmd/kube-apiserver/app.apiVersionPriorities
var apiVersionPriorities map[schema.GroupVersion]controlplaneapiserver.APIServicePriority

// createServerChain does what app.CreateServerChain
// (k8s.io/kubernetes/cmd/kube-apiserver/app/server.go@v1.37.1) does, and has
// kube-apiserver serve metrics.k8s.io too, with an APIService that needs no Service.
func createServerChain(config app.CompletedConfig) (*aggregatorapiserver.APIAggregator, error) {
	notFound := notfoundhandler.New(config.KubeAPIs.ControlPlane.Generic.Serializer, genericapifilters.NoMuxAndDiscoveryIncompleteKey)
	apiExtensions, err := config.ApiExtensions.New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, err
	}
	definitions := config.ApiExtensions.GenericConfig.MergedResourceConfig.ResourceEnabled(
		apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))

	kubeAPIs, err := config.KubeAPIs.New(apiExtensions.GenericAPIServer)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config.KubeAPIs.ControlPlane.Generic.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("create the client of metrics.k8s.io: %w", err)
	}
	server := kubeAPIs.ControlPlane.GenericAPIServer
	if err := server.InstallAPIGroup(metrics.APIGroup(client)); err != nil {
		return nil, fmt.Errorf("install metrics.k8s.io: %w", err)
	}
	priorities := maps.Clone(apiVersionPriorities)
	priorities[metrics.GroupVersion] = metricsPriority
	return controlplaneapiserver.CreateAggregatorServer(config.Aggregator, server,
		apiExtensions.Informers.Apiextensions().V1().CustomResourceDefinitions(), definitions, priorities)
}
