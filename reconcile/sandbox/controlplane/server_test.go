package controlplane_test

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

func TestServerIsReadyWhenStartReturns(t *testing.T) {
	if status, _ := newClient(t, shared).do(http.MethodGet, "/readyz", nil); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
}

// Who has no token of this run gets no answer, whatever the path.
func TestAnonymousIsRefused(t *testing.T) {
	c := newClient(t, shared)
	for _, path := range []string{"/version", "/healthz", "/livez", "/readyz", "/api", "/apis", "/openapi/v3", "/metrics", "/api/v1/namespaces", "/.well-known/openid-configuration", "/nothing"} {
		for _, header := range []string{"Authorization: ", "Authorization: Bearer wrong"} {
			if status, _ := c.do(http.MethodGet, path, nil, header); status != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d", path, header, status)
			}
		}
	}
}

// The audit log is safe to look at, and says what was sent.
func TestAuditLogIsInert(t *testing.T) {
	c := newClient(t, shared)
	hostile := named("v1", "ConfigMap", "hostile")
	hostile["data"] = object{"text": "##[error]x\u009b31m\u202e\x7f"}
	c.must(http.MethodPost, "/api/v1/namespaces/default/configmaps", hostile)
	log, err := os.ReadFile(shared.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	if command, found := runnertest.Command(string(log)); found {
		t.Errorf("a runner finds %q", command)
	}
	for _, r := range string(log) {
		if r != '\n' && !state.Printable(r) {
			t.Errorf("%U is in the audit log", r)
			break
		}
	}
	if !strings.Contains(string(log), `##\u005berror]x\u009b31m\u202e\u007f`) {
		t.Error("what was sent is not in the audit log")
	}
}

func TestVersion(t *testing.T) {
	info := newClient(t, shared).must(http.MethodGet, "/version", nil)
	for key, want := range map[string]string{
		"gitVersion": sandbox.LinkedVersion, "gitCommit": "", "major": "1", "minor": "37", "emulationMinor": "37",
	} {
		if info[key] != want {
			t.Errorf("%s = %q, want %q", key, info[key], want)
		}
	}
}

// The hooks that stand in for upstream's create what upstream's would.
func TestDefaultObjectsExist(t *testing.T) {
	c := newClient(t, shared)
	names := func(path string) map[string]bool {
		list, _ := c.must(http.MethodGet, path, nil)["items"].([]any)
		found := map[string]bool{}
		for _, item := range list {
			meta := item.(object)["metadata"].(object)
			namespace, _ := meta["namespace"].(string)
			found[namespace+"/"+meta["name"].(string)] = true
		}
		return found
	}
	expect := func(path string, want []string) {
		t.Helper()
		got := names(path)
		for _, name := range want {
			if !got[name] {
				t.Errorf("%s: %s is missing", path, name)
			}
		}
		if len(want) == 0 || len(got) != len(want) {
			t.Errorf("%s: %d objects, want %d", path, len(got), len(want))
		}
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	var want []string
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		want = append(want, "/"+role.Name)
	}
	expect(rbac+"clusterroles", want)
	want = nil
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		want = append(want, "/"+binding.Name)
	}
	expect(rbac+"clusterrolebindings", want)
	want = nil
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			want = append(want, namespace+"/"+role.Name)
		}
	}
	expect(rbac+"roles", want)
	want = nil
	for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			want = append(want, namespace+"/"+binding.Name)
		}
	}
	expect(rbac+"rolebindings", want)
	want = nil
	for _, class := range schedulingv1.SystemPriorityClasses() {
		want = append(want, "/"+class.Name)
	}
	expect("/apis/scheduling.k8s.io/v1/priorityclasses", want)
}

func TestOnlyTheTokenGetsIn(t *testing.T) {
	c := newClient(t, shared)
	const path = "/api/v1/namespaces/default/secrets"
	for header, want := range map[string]int{
		"Authorization: Bearer " + c.endpoint.Token:        http.StatusOK,
		"Authorization: Bearer " + c.endpoint.Token + "no": http.StatusUnauthorized,
		"Authorization: ":               http.StatusUnauthorized,
		"Impersonate-User: jane":        http.StatusForbidden,
		"Impersonate-User: system:node": http.StatusForbidden,
	} {
		if status, _ := c.do(http.MethodGet, path, nil, header); status != want {
			t.Errorf("%s: %d, want %d", header, status, want)
		}
	}
	// RBAC is at work, not just the shortcut for system:masters.
	status, _ := c.do(http.MethodGet, path, nil, "Impersonate-User: system:kube-controller-manager")
	if status != http.StatusOK {
		t.Errorf("kube-controller-manager by its default role: %d", status)
	}
}

// metrics.k8s.io is served as by metrics-server: for every client that discovers it,
// and of pods as soon as they run.
func TestMetricsAreServed(t *testing.T) {
	c := newClient(t, shared)
	group := c.must(http.MethodGet, "/apis/metrics.k8s.io", nil)
	if preferred := group["preferredVersion"].(object)["version"]; preferred != "v1beta1" {
		t.Errorf("preferred version %v", preferred)
	}
	service := c.must(http.MethodGet, "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io", nil)
	if spec := service["spec"].(object); spec["service"] != nil || spec["groupPriorityMinimum"] != 100.0 {
		t.Errorf("APIService: %v", spec)
	}
	found := false
	for _, group := range c.must(http.MethodGet, "/apis", nil)["groups"].([]any) {
		found = found || group.(object)["name"] == "metrics.k8s.io"
	}
	if !found {
		t.Error("/apis does not list metrics.k8s.io")
	}

	const core, metrics = "/api/v1/namespaces/default", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
	c.must(http.MethodPost, core+"/serviceaccounts", named("v1", "ServiceAccount", "default"))
	pod := named("v1", "Pod", "measured")
	pod["metadata"].(object)["labels"] = object{"app": "measured"}
	pod["metadata"].(object)["annotations"] = object{"kctl-ctrl.dev/cpu-usage": "250m"}
	pod["spec"] = object{"automountServiceAccountToken": false, "containers": []any{object{"name": "web", "image": "web"}}}
	c.must(http.MethodPost, core+"/pods", pod)
	if items := c.must(http.MethodGet, metrics, nil)["items"]; len(items.([]any)) != 0 {
		t.Errorf("a pod that does not run has metrics: %v", items)
	}
	pod = c.must(http.MethodGet, core+"/pods/measured", nil)
	pod["status"] = object{"phase": "Running"}
	c.must(http.MethodPut, core+"/pods/measured/status", pod)
	for query, want := range map[string]int{"": 1, "?labelSelector=app%3Dmeasured": 1, "?labelSelector=app%3Dother": 0,
		"?fieldSelector=metadata.name%3Dmeasured": 1, "?fieldSelector=metadata.name%3Dother": 0} {
		if items, _ := c.must(http.MethodGet, metrics+query, nil)["items"].([]any); len(items) != want {
			t.Errorf("%s: %d items, want %d", query, len(items), want)
		}
	}
	one := c.must(http.MethodGet, metrics+"/measured", nil)
	container := one["containers"].([]any)[0].(object)
	if container["name"] != "web" || container["usage"].(object)["cpu"] != "250m" || one["timestamp"] == nil {
		t.Errorf("metrics: %v", one)
	}
	if status, _ := c.do(http.MethodGet, metrics+"/none", nil); status != http.StatusNotFound {
		t.Errorf("metrics of a pod that does not exist: %d", status)
	}
	for _, header := range []string{"Authorization: ", "Impersonate-User: system:kube-scheduler"} {
		if status, _ := c.do(http.MethodGet, metrics, nil, header); status == http.StatusOK {
			t.Errorf("%s: %d", header, status)
		}
	}
}

func TestServiceAccountTokensAreSigned(t *testing.T) {
	c := newClient(t, shared)
	c.must(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", named("v1", "ServiceAccount", "signed"))
	answer := c.must(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/signed/token",
		object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{}})
	token := answer["status"].(object)["token"].(string)
	status, review := c.do(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		named("authentication.k8s.io/v1", "SelfSubjectReview", ""), "Authorization: Bearer "+token)
	if status != http.StatusCreated {
		t.Fatalf("self review with a signed token: %d %v", status, review)
	}
	user := review["status"].(object)["userInfo"].(object)["username"]
	if user != "system:serviceaccount:default:signed" {
		t.Errorf("token is for %v", user)
	}
}

func TestSigningInputsExist(t *testing.T) {
	in := shared.SigningInputs()
	for _, path := range []string{in.CertFile, in.KeyFile, in.ServiceAccountKeyFile} {
		if filepath.Dir(path) != shared.RunDir() || !exists(path) {
			t.Errorf("%q is not a file of the run directory", path)
		}
	}
	if string(in.RootCA) != string(shared.Endpoint().CA) {
		t.Error("pods would not trust the server")
	}
	c := newClient(t, shared)
	service := c.must(http.MethodGet, "/api/v1/namespaces/default/services/kubernetes", nil)
	if ip := service["spec"].(object)["clusterIP"]; in.ServiceCIDR != "10.96.0.0/16" || ip != "10.96.0.1" {
		t.Errorf("service CIDR %s, kubernetes has %v", in.ServiceCIDR, ip)
	}
}

func TestAuditLogShowsBodiesOfDeletes(t *testing.T) {
	c := newClient(t, shared)
	const path = "/api/v1/namespaces/default/configmaps"
	c.must(http.MethodPost, path, named("v1", "ConfigMap", "audited"))
	c.must(http.MethodDelete, path+"/audited", object{"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": []string{"All"}})
	log, err := os.ReadFile(shared.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, `"verb":"delete"`) && strings.Contains(line, path+"/audited") {
			if !strings.Contains(line, `"requestObject":{"kind":"DeleteOptions"`) || !strings.Contains(line, `"dryRun":["All"]`) {
				t.Errorf("the delete's body is not in the audit log: %s", line)
			}
			return
		}
	}
	t.Error("the delete is not in the audit log")
}

// The audit log has the bodies of requests, and no value of a Secret and no token
// among them.
func TestAuditLogKeepsSecrets(t *testing.T) {
	responses, err := sandbox.Start(t.Context(), sandbox.Options{Audit: sandbox.AuditRequestResponse})
	if err != nil {
		t.Fatal(err)
	}
	defer responses.Close(context.Background())
	for _, sb := range []*sandbox.Sandbox{shared, responses} {
		c := newClient(t, sb)
		const path = "/api/v1/namespaces/default/secrets"
		secret := named("v1", "Secret", "audited")
		secret["stringData"] = object{"password": "CANARY"}
		c.must(http.MethodPost, path, secret)
		c.must(http.MethodPut, path+"/audited", secret)
		c.must(http.MethodGet, path+"/audited", nil)
		c.must(http.MethodGet, path, nil)
		review := object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": object{"token": "CANARY"}}
		c.must(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", review)
		c.must(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", named("v1", "ServiceAccount", "audited"))
		request := object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{"audiences": []string{}}}
		answer := c.must(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/audited/token", request)
		token := answer["status"].(object)["token"].(string)
		c.must(http.MethodDelete, path+"/audited", object{"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": []string{"All"}})

		text, err := os.ReadFile(sb.AuditLogPath())
		if err != nil {
			t.Fatal(err)
		}
		log := string(text)
		for what, value := range map[string]string{"a value": "CANARY", "a value in base64": "Q0FOQVJZ", "a token": token} {
			if strings.Contains(log, value) {
				t.Errorf("%s is in the audit log", what)
			}
		}
		if !strings.Contains(log, path+"/audited") {
			t.Error("the requests are not in the audit log")
		}
		if sb == shared && !strings.Contains(log, `"requestURI":"`+path+`/audited","verb":"delete"`) {
			t.Error("the delete is not in the audit log")
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, path+"/audited") && strings.Contains(line, `"verb":"delete"`) && !strings.Contains(line, `"dryRun":["All"]`) {
				t.Errorf("it does not tell that a delete was a dry run: %s", line)
			}
		}
	}
}

// Revisions in etcd prove what reached the storage.
func TestEtcdCanBeRead(t *testing.T) {
	c := newClient(t, shared)
	created := c.must(http.MethodPost, "/api/v1/namespaces/default/configmaps", named("v1", "ConfigMap", "stored"))
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{shared.EtcdEndpoint()}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	got, err := etcd.Get(t.Context(), "/registry/configmaps/default/stored")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || got.Kvs[0].ModRevision == 0 {
		t.Errorf("in etcd: %v, in the API: %v", got.Kvs, created)
	}
}

func TestFilesArePrivate(t *testing.T) {
	kubeconfig, err := shared.WriteKubeconfig("")
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(kubeconfig) != shared.RunDir() {
		t.Errorf("kubeconfig is %s", kubeconfig)
	}
	files := 0
	err = filepath.WalkDir(shared.RunDir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files++
		// A socket's mode is 0777 less the umask.
		if mode := info.Mode(); mode.Perm()&0o077 != 0 || mode.IsRegular() && mode.Perm() != 0o600 {
			t.Errorf("%s: mode %v", path, mode)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestRecogniseTheRunning(t *testing.T) {
	if !sandbox.Recognise(shared.Endpoint().CA) {
		t.Error("a running sandbox is not recognised by its authority")
	}
	clientCA, err := os.ReadFile(shared.SigningInputs().CertFile)
	if err != nil {
		t.Fatal(err)
	}
	if sandbox.Recognise(clientCA) {
		t.Error("recognised by the authority whose key lies in the run directory")
	}
}
