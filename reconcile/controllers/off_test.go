package controllers

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// What the server lacks keeps one controller off, not the others.
func TestMissingType(t *testing.T) {
	cluster := newEmptyCluster(t,
		schema.GroupResource{Group: "batch", Resource: "cronjobs"},
		schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"})
	m := start(t, cluster, []string{"--controllers=cronjob,job,kube-apiserver-serving-clustertrustbundle-publisher-controller"},
		func(c *Config) {
			c.RootCA = testInputs(t).rootCA
			c.Logger = logr.Logger{}
		})
	want := map[string]string{
		"cronjob-controller": "the server does not serve cronjobs.batch (v1)",
		"kube-apiserver-serving-clustertrustbundle-publisher-controller": "the server does not serve clustertrustbundles.certificates.k8s.io",
	}
	if diff := cmp.Diff(want, offList(m)); diff != "" {
		t.Errorf("off (- want, + got):\n%s", diff)
	}
	within(t, "the job controller runs", func() bool { return statusOf(m, "job-controller") == state.ControllerRunning })
	if checks := m.HealthChecks(); len(checks) != 1 || checks["job-controller"](nil) != nil {
		t.Errorf("health checks %v", checks)
	}
}

// The inputs that were not given, and the CA that the REST configuration lacks.
func TestMissingInputs(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers=csrsigning,serviceaccount-token,nodeipam,root-ca-cert-publisher,garbagecollector,svm",
		"--enable-garbage-collector=false"}, nil)
	want := map[string]string{
		"certificatesigningrequest-signing-controller": "no CA to sign with: set --cluster-signing-cert-file and --cluster-signing-key-file",
		"garbage-collector-controller":                 "--enable-garbage-collector=false",
		"node-ipam-controller":                         "--allocate-node-cidrs is not set",
		"root-ca-certificate-publisher-controller":     "the cluster's CA certificate is not known: set --root-ca-file",
		"serviceaccount-token-controller":              "no key to sign tokens with: set --service-account-private-key-file",
		"storage-version-migrator-controller":          "garbage-collector-controller is off and it reads that one's graph",
	}
	if diff := cmp.Diff(want, offList(m)); diff != "" {
		t.Errorf("off (- want, + got):\n%s", diff)
	}
}

// A constructor's error is the controller's own.
func TestFailedBuild(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers=csrsigning,job", "--cluster-signing-cert-file=/nonexistent/ca.crt",
		"--cluster-signing-key-file=/nonexistent/ca.key"}, nil)
	if got := statusOf(m, "certificatesigningrequest-signing-controller"); got != state.ControllerFailed {
		t.Errorf("the signer is %s", got)
	}
	if reason := offList(m)["certificatesigningrequest-signing-controller"]; !strings.Contains(reason, "signer kubelet-serving") || !strings.Contains(reason, "/nonexistent/ca.crt") {
		t.Errorf("reason %q", reason)
	}
	within(t, "the job controller runs", func() bool { return statusOf(m, "job-controller") == state.ControllerRunning })
}

// With a namespace, cluster-wide loops are off and no informer looks beyond it,
// except for types that have no namespace.
func TestNamespace(t *testing.T) {
	cluster := newEmptyCluster(t)
	m := start(t, cluster, nil, func(c *Config) { c.Namespace = "shop" })
	for _, s := range m.Statuses() {
		i := slices.IndexFunc(m.descriptors, func(r Descriptor) bool { return r.Name == s.Controller })
		if on := s.Status != state.ControllerOff; on != m.descriptors[i].NamespaceSafe {
			t.Errorf("%s is %s: %s", s.Controller, s.Status, s.Reason)
		}
	}
	waitForSync(t, m)
	quota := schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	within(t, "the quota controller reads its type", func() bool {
		return slices.ContainsFunc(cluster.seen(), func(r request) bool { return r.resource == quota && r.namespace == "shop" })
	})
	for _, r := range cluster.seen() {
		if r.resource.Empty() || r.method != "GET" || clusterScoped[r.resource.Resource] {
			continue
		}
		if r.namespace != "shop" {
			t.Errorf("%s %s by %s", r.method, r.path, r.userAgent)
		}
	}
}

// Types that the user may not read keep their controllers off.
func TestCheckAccess(t *testing.T) {
	cluster := newEmptyCluster(t)
	cluster.forbidden[schema.GroupResource{Resource: "nodes"}] = true
	cluster.forbidden[schema.GroupResource{Group: "*", Resource: "*"}] = true
	m := start(t, cluster, []string{"--controllers=daemonset,replicaset,garbagecollector"}, func(c *Config) { c.CheckAccess = true })
	if reason := offList(m)["garbage-collector-controller"]; !strings.HasSuffix(reason, "every type") {
		t.Errorf("the garbage collector is off because %q", reason)
	}
	reason := offList(m)["daemonset-controller"]
	if reason != "you may not list nodes" && reason != "you may not watch nodes" {
		t.Errorf("the daemon set controller is off because %q", reason)
	}
	if got := statusOf(m, "replicaset-controller"); got == state.ControllerOff {
		t.Error("the replica set controller is off")
	}
}
