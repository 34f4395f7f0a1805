package controllers

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	signerconfig "k8s.io/kubernetes/pkg/controller/certificates/signer/config"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/clock"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// The pod certificate request cleaner's settings, as kube-controller-manager
// fixes them.
const (
	podCertificateRequestTTL    = 15 * time.Minute
	podCertificateRequestPeriod = 5 * time.Minute
)

// needsRootCA: published without one, the bundle would replace the cluster's
// with an empty one. Upstream does that; we do not.
var needsRootCA = need{
	what: "the cluster's CA certificate",
	missing: func(f *facts) string {
		if f.hasRootCA {
			return ""
		}
		return "the cluster's CA certificate is not known: set --root-ca-file"
	},
}

func certificatesControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.CertificateSigningRequestSigningController,
		Aliases: []string{"csrsigning"},
		Does:    "signs approved CertificateSigningRequests with the cluster's CA",
		Account: "certificate-controller",
		Parts:   []string{"kubelet-serving", "kubelet-client", "kube-apiserver-client", "legacy-unknown"},
		Queues: []Queue{
			{Spec: tap.Strings("kube-apiserver-client", "certificateController.queue"), Loop: "kube-apiserver-client", Types: []string{"certificatesigningrequests.certificates.k8s.io"}},
			{Spec: tap.Strings("kubelet-client", "certificateController.queue"), Loop: "kubelet-client", Types: []string{"certificatesigningrequests.certificates.k8s.io"}},
			{Spec: tap.Strings("kubelet-serving", "certificateController.queue"), Loop: "kubelet-serving", Types: []string{"certificatesigningrequests.certificates.k8s.io"}},
			{Spec: tap.Strings("legacy-unknown", "certificateController.queue"), Loop: "legacy-unknown", Types: []string{"certificatesigningrequests.certificates.k8s.io"}},
		},
		Reads:   []string{"certificates.k8s.io/v1/certificatesigningrequests"},
		workers: workers(5),
		needs: []need{{
			what: "--cluster-signing-cert-file and --cluster-signing-key-file",
			missing: func(f *facts) string {
				if len(signers(f.component.CSRSigningController)) > 0 {
					return ""
				}
				return "no CA to sign with: set --cluster-signing-cert-file and --cluster-signing-key-file"
			},
		}},
		build: buildSigners,
	}, {
		Name:    names.CertificateSigningRequestApprovingController,
		Aliases: []string{"csrapproving"},
		Does:    "approves the CertificateSigningRequests of kubelets",
		Account: "certificate-controller",
		Decides: []string{"certificatesigningrequests.certificates.k8s.io"},
		Queues:  []Queue{{Spec: tap.Strings("certificate", "queue"), Types: []string{"certificatesigningrequests.certificates.k8s.io"}}},
		Reads:   []string{"certificates.k8s.io/v1/certificatesigningrequests"},
		workers: workers(5),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := approver.NewCSRApprovingController(ctx, s.client, s.Certificates().V1().CertificateSigningRequests())
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.CertificateSigningRequestCleanerController,
		Aliases: []string{"csrcleaner"},
		Does:    "deletes old CertificateSigningRequests",
		Account: "certificate-controller",
		Reads:   []string{"certificates.k8s.io/v1/certificatesigningrequests"},
		workers: workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c := cleaner.NewCSRCleanerController(s.client.CertificatesV1().CertificateSigningRequests(),
				s.Certificates().V1().CertificateSigningRequests())
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.PodCertificateRequestCleanerController,
		Does:    "deletes old PodCertificateRequests",
		Account: "podcertificaterequestcleaner",
		Gates:   []featuregate.Feature{features.PodCertificateRequest},
		Reads:   []string{"certificates.k8s.io/v1/podcertificaterequests"},
		workers: workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c := cleaner.NewPCRCleanerController(s.client, s.Certificates().V1().PodCertificateRequests(), clock.RealClock{},
				podCertificateRequestTTL, podCertificateRequestPeriod)
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.RootCACertificatePublisherController,
		Aliases: []string{"root-ca-cert-publisher"},
		Does:    "keeps the cluster's CA in each namespace's kube-root-ca.crt ConfigMap",
		Account: "root-ca-cert-publisher",
		Decides: []string{"namespaces"},
		Queues:  []Queue{{Spec: tap.Strings("root_ca_cert_publisher", "queue"), Types: []string{"namespaces"}}},
		Reads:   []string{"v1/configmaps", "v1/namespaces"},
		workers: workers(1),
		needs:   []need{needsRootCA},
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c, err := rootcacertpublisher.NewPublisher(s.Core().V1().ConfigMaps(), s.Core().V1().Namespaces(), s.client, s.rootCA)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.KubeAPIServerClusterTrustBundlePublisherController,
		Does:    "publishes the API server's CA as a ClusterTrustBundle",
		Account: "kube-apiserver-serving-clustertrustbundle-publisher",
		Gates:   []featuregate.Feature{features.ClusterTrustBundle},
		Queues:  []Queue{{Spec: tap.Strings("ca_cert_publisher_cluster_trust_bundles", "queue"), Types: []string{"clustertrustbundles.certificates.k8s.io"}}},
		workers: workers(1),
		needs:   []need{needsRootCA},
		build:   buildTrustBundlePublisher,
	}}
}

// csrSigner is one of the four signers of the signing controller.
type csrSigner struct {
	name  string
	files signerconfig.CSRSigningConfiguration
	make  func(context.Context, kubernetes.Interface, certificatesinformers.CertificateSigningRequestInformer,
		string, string, time.Duration) (*signer.CSRSigningController, error)
}

// signers returns those with a certificate or key file. Files for a particular
// signer switch the common pair off for all of them.
func signers(conf signerconfig.CSRSigningControllerConfiguration) []csrSigner {
	all := []csrSigner{
		{"kubelet-serving", conf.KubeletServingSignerConfiguration, signer.NewKubeletServingCSRSigningController},
		{"kubelet-client", conf.KubeletClientSignerConfiguration, signer.NewKubeletClientCSRSigningController},
		{"kube-apiserver-client", conf.KubeAPIServerClientSignerConfiguration, signer.NewKubeAPIServerClientCSRSigningController},
		{"legacy-unknown", conf.LegacyUnknownSignerConfiguration, signer.NewLegacyUnknownCSRSigningController},
	}
	var some []csrSigner
	for _, s := range all {
		if s.files.CertFile != "" || s.files.KeyFile != "" {
			some = append(some, s)
		}
	}
	if len(some) > 0 || conf.ClusterSigningCertFile == "" || conf.ClusterSigningKeyFile == "" {
		return some
	}
	for i := range all {
		all[i].files = signerconfig.CSRSigningConfiguration{
			CertFile: conf.ClusterSigningCertFile, KeyFile: conf.ClusterSigningKeyFile,
		}
	}
	return all
}

func buildSigners(ctx context.Context, s *scope) ([]loop, error) {
	conf := s.component.CSRSigningController
	var loops []loop
	for _, sg := range signers(conf) {
		c, err := sg.make(ctx, s.client, s.Certificates().V1().CertificateSigningRequests(),
			sg.files.CertFile, sg.files.KeyFile, conf.ClusterSigningDuration.Duration)
		if err != nil {
			return nil, fmt.Errorf("signer %s: %w", sg.name, err)
		}
		loops = append(loops, loop{name: sg.name, target: c, run: func(ctx context.Context) { c.Run(ctx, s.workers) }})
	}
	return loops, nil
}

// buildTrustBundlePublisher takes the newest version of ClusterTrustBundles
// that the server has. The publisher has an informer of its own, of that
// version, filtered by signer: no tap sees it.
func buildTrustBundlePublisher(_ context.Context, s *scope) ([]loop, error) {
	ca, err := dynamiccertificates.NewStaticCAContent("kube-apiserver-serving", s.rootCA)
	if err != nil {
		return nil, fmt.Errorf("read CA certificate: %w", err)
	}
	type maker func(string, dynamiccertificates.CAContentProvider, kubernetes.Interface) (clustertrustbundlepublisher.PublisherRunner, error)
	versions := []struct {
		version schema.GroupVersion
		make    maker
	}{
		{certificatesv1.SchemeGroupVersion, clustertrustbundlepublisher.NewGAClusterTrustBundlePublisher},
		{certificatesv1beta1.SchemeGroupVersion, clustertrustbundlepublisher.NewBetaClusterTrustBundlePublisher},
		{certificatesv1alpha1.SchemeGroupVersion, clustertrustbundlepublisher.NewAlphaClusterTrustBundlePublisher},
	}
	for _, v := range versions {
		if !s.served.has(v.version.WithResource("clustertrustbundles")) {
			continue
		}
		c, err := v.make("kubernetes.io/kube-apiserver-serving", ca, s.client)
		if err != nil {
			return nil, err
		}
		return s.single(c, c.Run), nil
	}
	return nil, notServed("clustertrustbundles.certificates.k8s.io")
}
