package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// listing is an API server of pods, deployments and replicasets.
type listing struct {
	// pods is how many there are; of many, only a first page is ever sent.
	pods int
	// hangs: no list and no watch is answered; gone: each watch is answered with 410;
	// forbidden: each list and watch with 403.
	hangs, gone, forbidden bool
}

func (l listing) start(t *testing.T) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("KCTL_CTRL_ATTACH_DIR", t.TempDir())
	return programtest.KubeconfigOf(t, clientcmdapi.Cluster{Server: server.URL}, clientcmdapi.AuthInfo{})
}

func (l listing) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(o any) { _ = json.NewEncoder(w).Encode(o) }
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		answer(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason, Message: string(reason)})
	}
	resources := func(gv string, names ...string) {
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv}
		for _, name := range names {
			kind := map[string]string{"pods": "Pod", "deployments": "Deployment", "replicasets": "ReplicaSet"}[name]
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, SingularName: strings.TrimSuffix(name, "s"), Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"list", "watch", "get"}})
		}
		answer(list)
	}
	switch path := r.URL.Path; {
	case path == "/version":
		fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.1"}`)
	case path == "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case path == "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}`)
	case path == "/api/v1":
		resources("v1", "pods")
	case path == "/apis/apps/v1":
		resources("apps/v1", "deployments", "replicasets")
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	case l.forbidden:
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.URL.Query().Get("watch") != "" && l.gone:
		refuse(http.StatusGone, metav1.StatusReasonExpired)
	case r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") != "" && !l.hangs:
		refuse(http.StatusBadRequest, metav1.StatusReasonBadRequest) // list them
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case l.hangs && r.URL.Query().Get("limit") == "":
		<-r.Context().Done()
	default:
		l.list(w, r)
	}
}

// list sends metadata, of which every kind of list can be read.
func (l listing) list(w http.ResponseWriter, r *http.Request) {
	version, kind := "v1", "PodList"
	if strings.Contains(r.URL.Path, "/apis/apps/") {
		version, kind = "apps/v1", "DeploymentList"
	}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		version, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	const page = 100
	n, rest := l.pods, 0
	if !strings.HasSuffix(r.URL.Path, "/pods") {
		n = 0
	}
	if n > page {
		n, rest = page, n-page
	}
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web-%d","uid":"u%d","resourceVersion":"%d","creationTimestamp":"2026-01-02T15:04:05Z"}}`, i, i, i+1))
	}
	more := ""
	if rest > 0 {
		more = fmt.Sprintf(`,"continue":"c","remainingItemCount":%d`, rest)
	}
	fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"900"%s},"items":[%s]}`, version, kind, more, strings.Join(items, ","))
}

// cache reads one type by one informer, and calls nothing empty that it has not read.
func TestCacheWithoutAProcess(t *testing.T) {
	for name, c := range map[string]struct {
		server listing
		args   []string
		code   int
		out    []string // in this order; none is an empty output
		words  string
		never  string
	}{
		"some":      {listing{pods: 3}, []string{"pods", "-A"}, exit.OK, []string{"NAMESPACE", "web-0", "web-1", "web-2"}, "pods: 3 objects at resourceVersion 900", "No objects found"},
		"elsewhere": {listing{}, []string{"pods"}, exit.OK, []string{}, "No objects found", "error"},
		"slow":      {listing{pods: 40_000, hangs: true}, []string{"pods", "-A", "--timeout=500ms"}, exit.Failed, nil, "has not synced within ", "No objects found"},
		"forbidden": {listing{forbidden: true}, []string{"pods", "-A"}, exit.Failed, nil, "list and watch pods", "No objects found"},
		"no type":   {listing{}, []string{"elevators"}, exit.Failed, nil, `serves no type "elevators"`, "No objects found"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := c.server.start(t)
			code, out, words := call(t, append([]string{"cache", "--kubeconfig", kubeconfig}, c.args...)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if c.out == nil && out != "" {
				t.Errorf("it prints\n%s", out)
			}
			programtest.InOrder(t, out, c.out...)
			if !strings.Contains(words, c.words) || strings.Contains(words, c.never) {
				t.Errorf("want %q and not %q, got\n%s", c.words, c.never, words)
			}
			if name == "slow" && !strings.Contains(words, "of 40000 objects") {
				t.Errorf("it does not say what is missing:\n%s", words)
			}
		})
	}
}

// Controllers whose informers have no first list have not had nothing to do.
func TestUnsyncedIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		server listing
		want   string
	}{
		"slow": {listing{hangs: true}, "deployments.apps; pods; replicasets.apps"},
		"gone": {listing{gone: true}, "410"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := c.server.start(t)
			code, out, words := call(t, "run", "--kubeconfig", kubeconfig, "--controllers=deployment", "--for=1500ms")
			if code != exit.Failed || !strings.Contains(words, "error: 3 informers have not synced after 1.5") || !strings.Contains(words, c.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, exit.Failed, c.want, words)
			}
			if strings.Contains(out, "nothing to do") || !strings.Contains(out, "Informers not synced (3)") {
				t.Errorf("the summary says\n%s", out)
			}
		})
	}
}

// A probe does not take the queues of controllers that have seen nothing for empty.
func TestUnsyncedQueuesAreNotHealthy(t *testing.T) {
	defer func(was time.Duration) { engineflags.SyncWithin = was }(engineflags.SyncWithin)
	engineflags.SyncWithin = 100 * time.Millisecond
	kubeconfig := listing{hangs: true}.start(t)
	for _, command := range []string{"get queues --check depth=5", "get queues", "get informers"} {
		code, _, words := call(t, append(strings.Fields(command), "--kubeconfig", kubeconfig, "--controllers=deployment", "--for=100ms")...)
		if code != exit.Failed || !strings.Contains(words, "the answer is incomplete: 3 informers have not synced: deployments.apps; pods; replicasets.apps") {
			t.Errorf("%s: exit code %d, want %d\n%s", command, code, exit.Failed, words)
		}
	}
}

// Neither has a kube-scheduler; and --for bounds its wait.
func TestUnsyncedSchedulerIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		server listing
		want   string
	}{
		"slow":      {listing{hangs: true}, "pods; "},
		"forbidden": {listing{forbidden: true}, "nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := c.server.start(t)
			code, _, words := call(t, "run", "--kubeconfig", kubeconfig, "--scheduler", "--for=1500ms")
			if code != exit.Failed || !strings.Contains(words, "have not synced after 1.5s: ") && !strings.Contains(words, "has not synced after 1.5s: ") || !strings.Contains(words, c.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, exit.Failed, c.want, words)
			}
		})
	}
}
