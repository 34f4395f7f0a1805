package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// proof is a sandbox without nodes, scheduler or loops, filled with objects
// that give the loops something to create, change and delete. What a dry run
// did to it is read from the API server's audit log and from etcd: neither
// knows of the guard.
type proof struct {
	*sandbox.Sandbox
	etcd *clientv3.Client
}

func newProof(t *testing.T) *proof {
	t.Helper()
	sb, err := sandbox.Start(t.Context(), sandbox.Options{
		Audit: sandbox.AuditRequest, AuditLog: filepath.Join(t.TempDir(), "audit.log"),
		DisableAdmission: []string{"ServiceAccount"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{sb.EtcdEndpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	p := &proof{Sandbox: sb, etcd: etcd}
	p.seed(t)
	p.awaitOwnWrites(t)
	return p
}

// awaitOwnWrites returns when kube-apiserver has created its own Service, which
// it does some time after it is ready.
func (p *proof) awaitOwnWrites(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		keys := p.revisions(t)
		return keys["/registry/services/specs/default/kubernetes"] != 0 && keys["/registry/ipaddresses/10.96.0.1"] != 0, nil
	})
	if err != nil {
		t.Fatalf("kube-apiserver has not created its Service: %v", err)
	}
}

// client writes for real, as the user agent that mutations leaves out.
func (p *proof) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(p.config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (p *proof) config(t *testing.T) *rest.Config {
	t.Helper()
	endpoint := p.Endpoint()
	grant, err := guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	if err != nil {
		t.Fatal(err)
	}
	open, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: grant})
	if err != nil {
		t.Fatal(err)
	}
	config, err := connect.Server(connect.Endpoint(endpoint), open.Wrap, connect.Limits{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent = "seed"
	return config
}

// seed creates, for real and with no loop running, what the loops will want to
// act on. Each line says which loop it is for and what that will try.
func (p *proof) seed(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	client := p.client(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	create := metav1.CreateOptions{}
	const ns = "default"

	// Deployment: a ReplicaSet is missing (create), its status (update).
	_, err := client.AppsV1().Deployments(ns).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "deployed"}}, Template: withLabel(template, "deployed")},
	}, create)
	must(err)

	// ReplicaSet: three pods where one is wanted (delete with a protobuf body).
	rs, err := client.AppsV1().ReplicaSets(ns).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "crowded"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: selector, Template: template},
	}, create)
	must(err)
	for i := range 3 {
		_, err = client.CoreV1().Pods(ns).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crowded-%d", i), Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
			}},
			Spec: template.Spec,
		}, create)
		must(err)
	}

	// Garbage collector: the owner is gone (delete with a JSON body).
	_, err = client.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "orphan",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "gone", UID: types.UID("00000000-0000-0000-0000-000000000001")}},
	}}, create)
	must(err)

	// TTL after finished: a Job that finished long ago (delete).
	job, err := client.BatchV1().Jobs(ns).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "finished"},
		Spec: batchv1.JobSpec{
			TTLSecondsAfterFinished: ptr.To[int32](0),
			Template:                corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: template.Spec.Containers}},
		},
	}, create)
	must(err)
	ended := metav1.NewTime(time.Now().Add(-time.Hour))
	job.Status = batchv1.JobStatus{
		StartTime: &ended, CompletionTime: &ended, Succeeded: 1,
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: ended, LastProbeTime: ended},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: ended, LastProbeTime: ended},
		},
	}
	_, err = client.BatchV1().Jobs(ns).UpdateStatus(ctx, job, metav1.UpdateOptions{})
	must(err)

	// StatefulSet: a revision and a pod are missing (create); PVCs too.
	_, err = client.AppsV1().StatefulSets(ns).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), ServiceName: "db", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Template: withLabel(template, "db")},
	}, create)
	must(err)

	// Services and a quota: slices, endpoints, a status.
	_, err = client.CoreV1().Services(ns).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: template.Labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, create)
	must(err)

	// Namespace: it is to go, with what is in it (deletecollection).
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}, create)
	must(err)
	_, err = client.CoreV1().Secrets("doomed").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "inside"}, StringData: map[string]string{"k": "v"}}, create)
	must(err)
	must(client.CoreV1().Namespaces().Delete(ctx, "doomed", metav1.DeleteOptions{}))
}

func withLabel(template corev1.PodTemplateSpec, app string) corev1.PodTemplateSpec {
	template = *template.DeepCopy()
	template.Labels = map[string]string{"app": app}
	return template
}

// wanted are the writes that the loops must have tried before a proof proves
// anything, as "controller verb resource".
var wanted = []string{
	"deployment-controller create replicasets",
	"garbage-collector-controller delete configmaps",
	"namespace-controller deletecollection secrets",
	"replicaset-controller delete pods",
	"replicaset-controller update replicasets/status",
	"serviceaccount-controller create serviceaccounts",
	"statefulset-controller create pods",
	"ttl-after-finished-controller delete jobs",
}

// dryRun runs all loops in one mode until each of wanted has been tried and
// answered, then stops them.
func (p *proof) dryRun(t *testing.T, m state.Mode, broken guard.Broken) {
	t.Helper()
	s, err := newSession(sessionOptions{logFile: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	s.broken = broken
	defer s.shutDown(os.Stderr)
	wrap, err := s.guarded(guard.Options{Mode: m})
	if err != nil {
		t.Fatal(err)
	}
	if s.config, err = connect.Server(connect.Endpoint(p.Endpoint()), wrap, connect.Limits{QPS: -1}); err != nil {
		t.Fatal(err)
	}
	p.tryWanted(t, s, func(w state.WriteFinished) {
		if w.Result == state.WriteDone {
			t.Errorf("the journal calls a write of a dry run done: %s", state.Describe(w))
		}
	})
}

// tryWanted starts all loops of a session that is connected, and returns when each
// of wanted has been tried and answered. Every write is looked at.
func (p *proof) tryWanted(t *testing.T, s *session, look func(state.WriteFinished)) {
	t.Helper()
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.DefaultThroughput(sandboxQPS, sandboxBurst)
	inputs := p.SigningInputs()
	component, err := options.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		t.Fatal(err)
	}
	journal := s.hub.Subscribe(0)
	if err := s.startLoops(t.Context(), controllers.Config{Component: component, RootCA: inputs.RootCA}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	missing := map[string]bool{}
	for _, w := range wanted {
		missing[w] = true
	}
	for len(missing) > 0 {
		entries, err := journal.Next(ctx)
		if err != nil {
			t.Fatalf("the loops did not try %v: %v", missing, err)
		}
		for _, e := range entries {
			if w, ok := e.Event.(state.WriteFinished); ok {
				look(w)
				resource := w.Object.Resource
				if w.Subresource != "" {
					resource += "/" + w.Subresource
				}
				delete(missing, strings.Join([]string{w.Controller, w.Verb, resource}, " "))
			}
		}
	}
}

// ownKeys are what kube-apiserver writes by itself, seen without any loop.
var ownKeys = []string{"/registry/leases/kube-system/apiserver-", "/registry/masterleases/", "/registry/peerserverleases/", "/registry/ranges/", "/registry/health", "/registry/configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking"}

// revisions maps every key that is not the API server's own to the revision
// that wrote it last.
func (p *proof) revisions(t *testing.T) map[string]int64 {
	t.Helper()
	got, err := p.etcd.Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, kv := range got.Kvs {
		key := string(kv.Key)
		if !slices.ContainsFunc(ownKeys, func(own string) bool { return strings.HasPrefix(key, own) }) {
			out[key] = kv.ModRevision
		}
	}
	return out
}

// changes lists the keys that differ.
func changes(before, after map[string]int64) []string {
	var out []string
	for key, revision := range before {
		switch now, still := after[key]; {
		case !still:
			out = append(out, "deleted "+key)
		case now != revision:
			out = append(out, "changed "+key)
		}
	}
	for key := range after {
		if _, was := before[key]; !was {
			out = append(out, "created "+key)
		}
	}
	slices.Sort(out)
	return out
}

// mutations reads from the audit log what anyone but the seed and the API server
// itself asked to change: all of it, and what of it was not a dry run.
func (p *proof) mutations(t *testing.T) (all, real []string) {
	t.Helper()
	file, err := os.Open(p.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		seed, itself := event.UserAgent == "seed", event.User.Username == "system:apiserver"
		if seed || itself || event.Stage != auditv1.StageResponseComplete || !mutating(event) {
			continue
		}
		what := fmt.Sprintf("%s %s %s", strings.TrimPrefix(event.UserAgent, "kctl-ctrl/"), event.Verb, event.RequestURI)
		all = append(all, what)
		if !dry(t, event) {
			real = append(real, what)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all, real
}

func mutating(event auditv1.Event) bool {
	switch event.Verb {
	case "get", "list", "watch":
		return false
	}
	// Questions persist nothing; the API server stores no review.
	return event.ObjectRef == nil || !strings.HasSuffix(event.ObjectRef.Resource, "reviews")
}

// dry reads an event as the API server read the request: a DELETE with a body
// goes by the body alone.
func dry(t *testing.T, event auditv1.Event) bool {
	t.Helper()
	uri, err := url.Parse(event.RequestURI)
	if err != nil {
		t.Fatal(err)
	}
	query := slices.Equal(uri.Query()["dryRun"], []string{"All"})
	if event.Verb != "delete" && event.Verb != "deletecollection" {
		return query
	}
	if event.RequestObject == nil {
		return query
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal(event.RequestObject.Raw, &options); err != nil {
		t.Fatal(err)
	}
	return slices.Equal(options.DryRun, []string{"All"})
}

// TestDryRunPersistsNothing runs all loops dry, in both ways, over objects that
// make them create, update, patch and delete. The server's own records say that
// nothing was changed.
func TestDryRunPersistsNothing(t *testing.T) {
	p := newProof(t)
	for _, m := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
		t.Run(string(m), func(t *testing.T) {
			before := p.revisions(t)
			if len(before) < 50 {
				t.Fatalf("only %d keys in etcd: the seeds are missing", len(before))
			}
			earlier, _ := p.mutations(t)
			p.dryRun(t, m, guard.Broken{})
			for _, change := range changes(before, p.revisions(t)) {
				t.Errorf("etcd: %s", change)
			}
			all, real := p.mutations(t)
			for _, r := range real {
				t.Errorf("audit log: not a dry run: %s", r)
			}
			sent := len(all) - len(earlier)
			if m == state.ModeDryRunClient && sent > 0 {
				t.Errorf("audit log: %d mutating requests left the process: %q", sent, all[len(earlier):])
			}
			if m == state.ModeDryRunServer && sent < len(wanted) {
				t.Errorf("audit log: only %d mutating requests were sent: the server has not seen what it is to bear witness of", sent)
			}
		})
	}
}

// TestProofSeesABrokenGuard switches the rewriting of DELETE bodies off: the
// proof must notice, in both records.
func TestProofSeesABrokenGuard(t *testing.T) {
	p := newProof(t)
	before := p.revisions(t)
	p.dryRun(t, state.ModeDryRunServer, guard.Broken{SkipDeleteRewrite: true})
	if gone := changes(before, p.revisions(t)); len(gone) == 0 {
		t.Error("etcd shows no change though deletes went out as they were")
	}
	if _, real := p.mutations(t); len(real) == 0 {
		t.Error("the audit log shows no real write though deletes went out as they were")
	}
}

// TestGuardKnowsAllThatTheServerServes asks the sandbox what it serves and has
// the guard judge every verb of every resource and subresource, in every mode.
func TestGuardKnowsAllThatTheServerServes(t *testing.T) {
	p := newProof(t)
	readOnly, err := guard.New(guard.Options{Mode: state.ModeReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	config, err := connect.Server(connect.Endpoint(p.Endpoint()), readOnly.Wrap, connect.Limits{QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]string{
		"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost,
		"update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete,
	}
	judged := 0
	for _, list := range lists {
		for _, resource := range list.APIResources {
			name, subresource, _ := strings.Cut(resource.Name, "/")
			for _, verb := range resource.Verbs {
				request, err := http.NewRequest(methods[verb], p.Endpoint().URL+pathOf(list.GroupVersion, name, subresource, verb, resource.Namespaced), nil)
				if err != nil || methods[verb] == "" {
					t.Fatalf("%s %s: verb %q: %v", list.GroupVersion, resource.Name, verb, err)
				}
				if verb == "patch" {
					request.Header.Set("Content-Type", "application/merge-patch+json")
				}
				judge(t, request, fmt.Sprintf("%s %s %s", verb, list.GroupVersion, resource.Name), verb)
				judged++
			}
		}
	}
	if judged < 400 {
		t.Errorf("only %d combinations were judged", judged)
	}
}

func pathOf(groupVersion, name, subresource, verb string, namespaced bool) string {
	path := "/apis/" + groupVersion
	if !strings.Contains(groupVersion, "/") {
		path = "/api/" + groupVersion
	}
	if namespaced {
		path += "/namespaces/ns"
	}
	path += "/" + name
	if subresource != "" || !slices.Contains([]string{"create", "list", "watch", "deletecollection"}, verb) {
		path += "/name"
	}
	if subresource != "" {
		path += "/" + subresource
	}
	return path
}

// judge checks what the four modes make of one request.
func judge(t *testing.T, request *http.Request, what, verb string) {
	t.Helper()
	reads := verb == "get" || verb == "list" || verb == "watch"
	r := guard.Classify(request.Method, request.URL, request.Header)
	if r.Kind == guard.KindUnknown {
		t.Errorf("%s: the guard does not know it: %s", what, r.Why)
		return
	}
	for _, m := range []state.Mode{state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer} {
		g, err := guard.New(guard.Options{Mode: m})
		if err != nil {
			t.Fatal(err)
		}
		action := g.Decide(r).Action
		switch r.Kind {
		case guard.KindRead:
			if !reads || action != guard.ActionPass {
				t.Errorf("%s in %s: taken for a read, %s", what, m, action)
			}
		case guard.KindReview:
			if verb != "create" || action != guard.ActionPass {
				t.Errorf("%s in %s: taken for a question, %s", what, m, action)
			}
		case guard.KindConnect:
			if action != guard.ActionRefuse {
				t.Errorf("%s in %s: %s, want it refused", what, m, action)
			}
		case guard.KindWrite:
			want := map[state.Mode][]guard.Action{
				state.ModeReadOnly:     {guard.ActionRefuse},
				state.ModeDryRunClient: {guard.ActionAnswer, guard.ActionRefuse},
				state.ModeDryRunServer: {guard.ActionSendDry, guard.ActionRefuse},
			}[m]
			if reads || !slices.Contains(want, action) {
				t.Errorf("%s in %s: %s", what, m, action)
			}
			if action == guard.ActionRefuse && m != state.ModeReadOnly && r.Subresource != "token" {
				t.Errorf("%s in %s: refused: %s", what, m, g.Decide(r).Reason)
			}
		default:
			t.Errorf("%s: %s", what, r.Kind)
		}
	}
}
