package layouttest

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/controller-manager/pkg/informerfactory"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodeipam"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/scheduling/podgroupprotection"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/storageversiongc"
	"k8s.io/kubernetes/pkg/controller/storageversionmigrator"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/expand"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/selinuxwarning"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
	"k8s.io/kubernetes/pkg/volume/csimigration"
	"k8s.io/utils/clock"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// world is what a controller is built from, on a fake API server.
type world struct {
	informers.SharedInformerFactory
	t       testing.TB
	ctx     context.Context
	name    string
	client  client
	objects metadata.Interface
	mapper  meta.ResettableRESTMapper
	all     informerfactory.InformerFactory
	started chan struct{}
}

// discovered is what the fake API server says it has.
func discovered() []*metav1.APIResourceList {
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	return []*metav1.APIResourceList{{
		GroupVersion: "v1",
		APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs},
			{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: verbs},
		},
	}}
}

// newWorld returns a world in which informers and handlers are seen by tp.
func newWorld(t testing.TB, ctx context.Context, tp *tap.Tap, objects ...runtime.Object) *world {
	client := client{fake.NewClientset(objects...)}
	client.Resources = discovered()
	s := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		t.Fatal(err)
	}
	w := &world{
		SharedInformerFactory: informers.NewSharedInformerFactory(client, 0),
		t:                     t,
		ctx:                   ctx,
		client:                client,
		objects:               metadatafake.NewSimpleMetadataClient(s),
		mapper:                restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		started:               make(chan struct{}),
	}
	w.all = informerfactory.NewInformerFactory(w.SharedInformerFactory, metadatainformer.NewSharedInformerFactory(w.objects, 0))
	return w
}

// client is the fake clientset with a REST client that refuses everything. The
// node controllers write their Events through one; the fake's is nil.
type client struct{ *fake.Clientset }

func (c client) CoreV1() corev1client.CoreV1Interface { return &core{c.Clientset.CoreV1()} }

type core struct{ corev1client.CoreV1Interface }

func (*core) RESTClient() rest.Interface {
	return &restfake.RESTClient{
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		Client: restfake.CreateHTTPClient(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody}, nil
		}),
	}
}

// as is the world as one controller sees it.
func (w *world) as(tp *tap.Tap, name string) *world {
	own := *w
	own.name = name
	var err error
	if own.SharedInformerFactory, err = tp.Informers(name, w.SharedInformerFactory); err != nil {
		w.t.Fatal(err)
	}
	if own.all, err = tp.ObjectOrMetadata(name, w.all); err != nil {
		w.t.Fatal(err)
	}
	return &own
}

func (w *world) discovery() *fakediscovery.FakeDiscovery {
	return w.client.Discovery().(*fakediscovery.FakeDiscovery)
}

// preferred answers what the fake discovery client leaves out.
type preferred struct {
	discovery.ServerResourcesInterface
}

func (preferred) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return discovered(), nil
}

// loop is one loop of a controller and how to run it.
type loop struct {
	target any
	run    func(context.Context)
}

// pool is a loop that runs with two workers.
func pool[C any](c C, run func(context.Context, int)) loop {
	return loop{c, func(ctx context.Context) { run(ctx, 2) }}
}

func must[T any](w *world) func(T, error) T {
	return func(v T, err error) T {
		w.t.Helper()
		if err != nil {
			w.t.Fatalf("build %s: %v", w.name, err)
		}
		return v
	}
}

// builders makes the loops of each controller, by name.
func builders() map[string]func(w *world) map[string]loop {
	one := func(build func(w *world) loop) func(w *world) map[string]loop {
		return func(w *world) map[string]loop { return map[string]loop{w.name: build(w)} }
	}
	return map[string]func(w *world) map[string]loop{
		names.DeploymentController: one(func(w *world) loop {
			c := must[*deployment.DeploymentController](w)(deployment.NewDeploymentController(w.ctx,
				w.Apps().V1().Deployments(), w.Apps().V1().ReplicaSets(), w.Core().V1().Pods(), w.client))
			return pool(c, c.Run)
		}),
		names.ReplicaSetController: one(func(w *world) loop {
			c := replicaset.NewReplicaSetController(w.ctx, w.Apps().V1().ReplicaSets(), w.Core().V1().Pods(), w.client, 500)
			return pool(c, c.Run)
		}),
		names.ReplicationControllerController: one(func(w *world) loop {
			c := replication.NewReplicationManager(w.ctx, w.Core().V1().Pods(), w.Core().V1().ReplicationControllers(), w.client, 500)
			return pool(c, c.Run)
		}),
		names.StatefulSetController: one(func(w *world) loop {
			c := statefulset.NewStatefulSetController(w.ctx, w.Core().V1().Pods(), w.Apps().V1().StatefulSets(),
				w.Core().V1().PersistentVolumeClaims(), w.Apps().V1().ControllerRevisions(), w.client)
			return pool(c, c.Run)
		}),
		names.DaemonSetController: one(func(w *world) loop {
			c := must[*daemon.DaemonSetsController](w)(daemon.NewDaemonSetsController(w.ctx, w.Apps().V1().DaemonSets(),
				w.Apps().V1().ControllerRevisions(), w.Core().V1().Pods(), w.Core().V1().Nodes(), w.client,
				flowcontrol.NewBackOff(time.Second, time.Minute)))
			return pool(c, c.Run)
		}),
		names.JobController: one(func(w *world) loop {
			c := must[*job.Controller](w)(job.NewController(w.ctx, w.client, w.Core().V1().Pods(), w.Batch().V1().Jobs(),
				w.Scheduling().V1beta1().Workloads(), w.Scheduling().V1beta1().PodGroups()))
			return pool(c, c.Run)
		}),
		names.CronJobController: one(func(w *world) loop {
			c := must[*cronjob.ControllerV2](w)(cronjob.NewControllerV2(w.ctx, w.Batch().V1().Jobs(), w.Batch().V1().CronJobs(), w.client))
			return pool(c, c.Run)
		}),
		names.TTLAfterFinishedController: one(func(w *world) loop {
			c := ttlafterfinished.New(w.ctx, w.Batch().V1().Jobs(), w.client)
			return pool(c, c.Run)
		}),
		names.HorizontalPodAutoscalerController: one(func(w *world) loop {
			c := podautoscaler.NewHorizontalController(w.ctx, w.client.CoreV1(), nil, w.client.AutoscalingV2(), w.mapper, nil,
				w.Autoscaling().V2().HorizontalPodAutoscalers(), w.Core().V1().Pods(), 15*time.Second, time.Minute, 0.1, time.Minute, time.Minute)
			return pool(c, c.Run)
		}),
		names.DisruptionController: one(func(w *world) loop {
			c := disruption.NewDisruptionController(w.ctx, w.Core().V1().Pods(), w.Policy().V1().PodDisruptionBudgets(),
				w.Core().V1().ReplicationControllers(), w.Apps().V1().ReplicaSets(), w.Apps().V1().Deployments(),
				w.Apps().V1().StatefulSets(), w.client, w.mapper, nil, w.discovery())
			return pool(c, c.Run)
		}),
		names.PodGroupProtectionController: one(func(w *world) loop {
			c := must[*podgroupprotection.Controller](w)(podgroupprotection.NewPodGroupProtectionController(klog.FromContext(w.ctx),
				w.Scheduling().V1beta1().PodGroups(), w.Core().V1().Pods(), w.client))
			return pool(c, c.Run)
		}),
		names.PodGarbageCollectorController: one(func(w *world) loop {
			c := podgc.NewPodGC(w.ctx, w.client, w.Core().V1().Pods(), w.Core().V1().Nodes(), 10)
			return loop{c, c.Run}
		}),
		names.GarbageCollectorController: one(func(w *world) loop {
			graph := garbagecollector.NewDependencyGraphBuilder(w.ctx, w.objects, w.mapper, nil, w.all, w.started)
			c := must[*garbagecollector.GarbageCollector](w)(garbagecollector.NewComposedGarbageCollector(w.ctx, w.client, w.objects, w.mapper, graph))
			return loop{c, func(ctx context.Context) {
				go c.Sync(ctx, preferred{w.discovery()}, time.Second)
				c.Run(ctx, 2, time.Second)
			}}
		}),
		names.NamespaceController: one(func(w *world) loop {
			c := namespace.NewNamespaceController(w.ctx, w.client, w.objects,
				func() ([]*metav1.APIResourceList, error) { return discovered(), nil },
				w.Core().V1().Namespaces(), time.Minute, corev1.FinalizerKubernetes)
			return pool(c, c.Run)
		}),
		names.ResourceQuotaController: one(func(w *world) loop {
			conf, err := quotainstall.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(w.ForResource), w.SharedInformerFactory)
			if err != nil {
				w.t.Fatal(err)
			}
			c := must[*resourcequota.Controller](w)(resourcequota.NewController(w.ctx, &resourcequota.ControllerOptions{
				QuotaClient:               w.client.CoreV1(),
				ResourceQuotaInformer:     w.Core().V1().ResourceQuotas(),
				ResyncPeriod:              controller.StaticResyncPeriodFunc(time.Minute),
				InformerFactory:           w.all,
				ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(time.Minute),
				DiscoveryFunc:             func() ([]*metav1.APIResourceList, error) { return discovered(), nil },
				IgnoredResourcesFunc:      conf.IgnoredResources,
				InformersStarted:          w.started,
				Registry:                  generic.NewRegistry(conf.Evaluators()),
				UpdateFilter:              quotainstall.DefaultUpdateFilter(),
			}))
			return pool(c, c.Run)
		}),
		names.EndpointsController: one(func(w *world) loop {
			c := endpoint.NewEndpointController(w.ctx, w.Core().V1().Pods(), w.Core().V1().Services(), w.Core().V1().Endpoints(), w.client, 0)
			return pool(c, c.Run)
		}),
		names.EndpointSliceController: one(func(w *world) loop {
			c := endpointslice.NewController(w.ctx, w.Core().V1().Pods(), w.Core().V1().Services(), w.Core().V1().Nodes(),
				w.Discovery().V1().EndpointSlices(), 100, w.client, 0)
			return pool(c, c.Run)
		}),
		names.EndpointSliceMirroringController: one(func(w *world) loop {
			c := endpointslicemirroring.NewController(w.ctx, w.Core().V1().Endpoints(), w.Discovery().V1().EndpointSlices(),
				w.Core().V1().Services(), 100, w.client, 0)
			return pool(c, c.Run)
		}),
		names.ServiceCIDRController: one(func(w *world) loop {
			c := servicecidrs.NewController(w.ctx, w.Networking().V1().ServiceCIDRs(), w.Networking().V1().IPAddresses(), w.client)
			return pool(c, c.Run)
		}),
		names.NodeIpamController: one(func(w *world) loop {
			_, cidr, _ := net.ParseCIDR("10.244.0.0/16")
			c := must[*nodeipam.Controller](w)(nodeipam.NewNodeIpamController(w.ctx, w.Core().V1().Nodes(), nil, w.client,
				[]*net.IPNet{cidr}, nil, nil, []int{24}, ipam.RangeAllocatorType))
			return loop{c, c.Run}
		}),
		names.NodeLifecycleController: one(func(w *world) loop {
			c := must[*nodelifecycle.Controller](w)(nodelifecycle.NewNodeLifecycleController(w.ctx, w.Coordination().V1().Leases(),
				w.Core().V1().Pods(), w.Core().V1().Nodes(), w.Apps().V1().DaemonSets(), w.client,
				time.Second, time.Minute, time.Minute, 0.1, 0.1, 50, 0.5))
			return loop{c, c.Run}
		}),
		names.TaintEvictionController: one(func(w *world) loop {
			c := must[*tainteviction.Controller](w)(tainteviction.New(w.ctx, w.client, w.Core().V1().Pods(), w.Core().V1().Nodes(), w.name))
			return loop{c, c.Run}
		}),
		names.TTLController: one(func(w *world) loop {
			c := ttl.NewTTLController(w.ctx, w.Core().V1().Nodes(), w.client)
			return pool(c, c.Run)
		}),
		names.ResourceClaimController: one(func(w *world) loop {
			c := must[*resourceclaim.Controller](w)(resourceclaim.NewController(klog.FromContext(w.ctx), w.client, w.Core().V1().Pods(),
				w.Scheduling().V1beta1().PodGroups(), w.Resource().V1().ResourceClaims(), w.Resource().V1().ResourceClaimTemplates()))
			return pool(c, c.Run)
		}),
		names.DeviceTaintEvictionController: one(func(w *world) loop {
			c := devicetainteviction.New(w.client, w.Core().V1().Pods(), w.Resource().V1().ResourceClaims(), w.Resource().V1().ResourceSlices(),
				w.Resource().V1().DeviceTaintRules(), w.Resource().V1().DeviceClasses(), w.name)
			return loop{c, func(ctx context.Context) {
				if err := c.Run(ctx, 2); err != nil {
					w.t.Errorf("run %s: %v", w.name, err)
				}
			}}
		}),
		names.ResourcePoolStatusRequestController: one(func(w *world) loop {
			c := must[*resourcepoolstatusrequest.Controller](w)(resourcepoolstatusrequest.NewController(w.ctx, w.client,
				w.Resource().V1alpha3().ResourcePoolStatusRequests(), w.Resource().V1().ResourceSlices(),
				w.Resource().V1().ResourceClaims(), w.Resource().V1().DeviceTaintRules()))
			return pool(c, c.Run)
		}),
		names.PersistentVolumeBinderController: one(func(w *world) loop {
			c := must[*persistentvolume.PersistentVolumeController](w)(persistentvolume.NewController(w.ctx, persistentvolume.ControllerParameters{
				KubeClient: w.client, SyncPeriod: time.Minute, VolumeInformer: w.Core().V1().PersistentVolumes(),
				ClaimInformer: w.Core().V1().PersistentVolumeClaims(), ClassInformer: w.Storage().V1().StorageClasses(),
				PodInformer: w.Core().V1().Pods(), NodeInformer: w.Core().V1().Nodes(),
			}))
			return loop{c, c.Run}
		}),
		names.PersistentVolumeAttachDetachController: one(func(w *world) loop {
			c := must[attachdetach.AttachDetachController](w)(attachdetach.NewAttachDetachController(w.ctx, w.client, w.Core().V1().Pods(),
				w.Core().V1().Nodes(), w.Core().V1().PersistentVolumeClaims(), w.Core().V1().PersistentVolumes(), w.Storage().V1().CSINodes(),
				w.Storage().V1().CSIDrivers(), w.Storage().V1().VolumeAttachments(), nil, nil, true, time.Minute, true, attachdetach.DefaultTimerConfig))
			return loop{c, c.Run}
		}),
		names.PersistentVolumeExpanderController: one(func(w *world) loop {
			c := must[expand.ExpandController](w)(expand.NewExpandController(w.ctx, w.client, w.Core().V1().PersistentVolumeClaims(), nil,
				csitrans.New(), csimigration.NewPluginManager(csitrans.New())))
			return loop{c, c.Run}
		}),
		names.EphemeralVolumeController: one(func(w *world) loop {
			c := must[ephemeral.Controller](w)(ephemeral.NewController(w.ctx, w.client, w.Core().V1().Pods(), w.Core().V1().PersistentVolumeClaims()))
			return pool(c, c.Run)
		}),
		names.PersistentVolumeClaimProtectionController: one(func(w *world) loop {
			c := must[*pvcprotection.Controller](w)(pvcprotection.NewPVCProtectionController(klog.FromContext(w.ctx),
				w.Core().V1().PersistentVolumeClaims(), w.Core().V1().Pods(), w.client))
			return pool(c, c.Run)
		}),
		names.PersistentVolumeProtectionController: one(func(w *world) loop {
			c := must[*pvprotection.Controller](w)(pvprotection.NewPVProtectionController(klog.FromContext(w.ctx),
				w.Core().V1().PersistentVolumes(), w.client))
			return pool(c, c.Run)
		}),
		names.VolumeAttributesClassProtectionController: one(func(w *world) loop {
			c := must[*vacprotection.Controller](w)(vacprotection.NewVACProtectionController(klog.FromContext(w.ctx), w.client,
				w.Core().V1().PersistentVolumeClaims(), w.Core().V1().PersistentVolumes(), w.Storage().V1().VolumeAttributesClasses()))
			return pool(c, c.Run)
		}),
		names.SELinuxWarningController: one(func(w *world) loop {
			c := must[*selinuxwarning.Controller](w)(selinuxwarning.NewController(w.ctx, w.client, w.Core().V1().Pods(),
				w.Core().V1().PersistentVolumeClaims(), w.Core().V1().PersistentVolumes(), w.Storage().V1().CSIDrivers(), nil, nil))
			return pool(c, c.Run)
		}),
		names.ServiceAccountController: one(func(w *world) loop {
			c := must[*serviceaccount.ServiceAccountsController](w)(serviceaccount.NewServiceAccountsController(klog.FromContext(w.ctx),
				w.Core().V1().ServiceAccounts(), w.Core().V1().Namespaces(), w.client, serviceaccount.DefaultServiceAccountsControllerOptions()))
			return pool(c, c.Run)
		}),
		names.ServiceAccountTokenController: one(func(w *world) loop {
			c := must[*serviceaccount.TokensController](w)(serviceaccount.NewTokensController(klog.FromContext(w.ctx),
				w.Core().V1().ServiceAccounts(), w.Core().V1().Secrets(), w.client, serviceaccount.TokensControllerOptions{TokenGenerator: noTokens{}}))
			return pool(c, c.Run)
		}),
		names.LegacyServiceAccountTokenCleanerController: one(func(w *world) loop {
			c := must[*serviceaccount.LegacySATokenCleaner](w)(serviceaccount.NewLegacySATokenCleaner(w.Core().V1().ServiceAccounts(),
				w.Core().V1().Secrets(), w.Core().V1().Pods(), w.client, clock.RealClock{}, serviceaccount.LegacySATokenCleanerOptions{
					CleanUpPeriod: time.Hour, SyncInterval: time.Hour,
				}))
			return loop{c, c.Run}
		}),
		names.BootstrapSignerController: one(func(w *world) loop {
			c := must[*bootstrap.Signer](w)(bootstrap.NewSigner(w.client, w.Core().V1().Secrets(), w.Core().V1().ConfigMaps(), bootstrap.DefaultSignerOptions()))
			return loop{c, c.Run}
		}),
		names.TokenCleanerController: one(func(w *world) loop {
			c := must[*bootstrap.TokenCleaner](w)(bootstrap.NewTokenCleaner(w.client, w.Core().V1().Secrets(), bootstrap.DefaultTokenCleanerOptions()))
			return loop{c, c.Run}
		}),
		names.CertificateSigningRequestSigningController: buildSigners,
		names.CertificateSigningRequestApprovingController: one(func(w *world) loop {
			c := approver.NewCSRApprovingController(w.ctx, w.client, w.Certificates().V1().CertificateSigningRequests())
			return pool(c, c.Run)
		}),
		names.CertificateSigningRequestCleanerController: one(func(w *world) loop {
			c := cleaner.NewCSRCleanerController(w.client.CertificatesV1().CertificateSigningRequests(), w.Certificates().V1().CertificateSigningRequests())
			return pool(c, c.Run)
		}),
		names.PodCertificateRequestCleanerController: one(func(w *world) loop {
			c := cleaner.NewPCRCleanerController(w.client, w.Certificates().V1().PodCertificateRequests(), clock.RealClock{}, time.Minute, time.Minute)
			return pool(c, c.Run)
		}),
		names.RootCACertificatePublisherController: one(func(w *world) loop {
			c := must[*rootcacertpublisher.Publisher](w)(rootcacertpublisher.NewPublisher(w.Core().V1().ConfigMaps(), w.Core().V1().Namespaces(), w.client, []byte("ca")))
			return pool(c, c.Run)
		}),
		names.KubeAPIServerClusterTrustBundlePublisherController: one(func(w *world) loop {
			certificate, _, err := cert.GenerateSelfSignedCertKey("ca", nil, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			ca := must[dynamiccertificates.CAContentProvider](w)(dynamiccertificates.NewStaticCAContent("ca", certificate))
			c := must[clustertrustbundlepublisher.PublisherRunner](w)(clustertrustbundlepublisher.NewBetaClusterTrustBundlePublisher(
				"kubernetes.io/kube-apiserver-serving", ca, w.client))
			return loop{c, c.Run}
		}),
		names.ClusterRoleAggregationController: one(func(w *world) loop {
			c := clusterroleaggregation.NewClusterRoleAggregation(w.Rbac().V1().ClusterRoles(), w.client.RbacV1())
			return pool(c, c.Run)
		}),
		names.StorageVersionGarbageCollectorController: one(func(w *world) loop {
			c := storageversiongc.NewStorageVersionGC(w.ctx, w.client, w.Coordination().V1().Leases(), w.Internal().V1alpha1().StorageVersions())
			return loop{c, c.Run}
		}),
		names.StorageVersionMigratorController: buildMigrators,
		names.ValidatingAdmissionPolicyStatusController: one(func(w *world) loop {
			c := must[*validatingadmissionpolicystatus.Controller](w)(validatingadmissionpolicystatus.NewController(
				w.Admissionregistration().V1().ValidatingAdmissionPolicies(), w.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), nil))
			return pool(c, c.Run)
		}),
	}
}

func buildSigners(w *world) map[string]loop {
	certificate, key, err := cert.GenerateSelfSignedCertKey("ca", nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	// What follows is the certificate that signed it; a signer takes one.
	block, _ := pem.Decode(certificate)
	certificate = pem.EncodeToMemory(block)
	dir := w.t.TempDir()
	certFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	for file, data := range map[string][]byte{certFile: certificate, keyFile: key} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	csrs := w.Certificates().V1().CertificateSigningRequests()
	loops := map[string]loop{}
	for name, build := range map[string]func(context.Context, kubernetes.Interface) (*signer.CSRSigningController, error){
		"kubelet-serving": func(ctx context.Context, c kubernetes.Interface) (*signer.CSRSigningController, error) {
			return signer.NewKubeletServingCSRSigningController(ctx, c, csrs, certFile, keyFile, time.Hour)
		},
		"kubelet-client": func(ctx context.Context, c kubernetes.Interface) (*signer.CSRSigningController, error) {
			return signer.NewKubeletClientCSRSigningController(ctx, c, csrs, certFile, keyFile, time.Hour)
		},
		"kube-apiserver-client": func(ctx context.Context, c kubernetes.Interface) (*signer.CSRSigningController, error) {
			return signer.NewKubeAPIServerClientCSRSigningController(ctx, c, csrs, certFile, keyFile, time.Hour)
		},
		"legacy-unknown": func(ctx context.Context, c kubernetes.Interface) (*signer.CSRSigningController, error) {
			return signer.NewLegacyUnknownCSRSigningController(ctx, c, csrs, certFile, keyFile, time.Hour)
		},
	} {
		c := must[*signer.CSRSigningController](w)(build(w.ctx, w.client))
		loops[name] = pool(c, c.Run)
	}
	return loops
}

func buildMigrators(w *world) map[string]loop {
	svms := w.Storagemigration().V1().StorageVersionMigrations()
	graph := garbagecollector.NewDependencyGraphBuilder(w.ctx, w.objects, w.mapper, nil, w.all, w.started)
	migration := storageversionmigrator.NewSVMController(w.ctx, w.client, nil, svms, w.name, w.mapper, graph)
	version := storageversionmigrator.NewResourceVersionController(w.ctx, w.client, discovery.DiscoveryInterface(w.discovery()), w.objects, svms, w.mapper)
	custom := storageversionmigrator.NewCustomResourceController(w.ctx, w.client, svms,
		apiextensionsfake.NewClientset().ApiextensionsV1().CustomResourceDefinitions())
	return map[string]loop{
		"migration":        {migration, migration.Run},
		"resource-version": {version, version.Run},
		"custom-resource":  {custom, custom.Run},
	}
}
