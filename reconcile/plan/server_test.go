package plan

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// fakeServer is an API server that stores what is applied to it. What a real
// one does later it does after having been asked about it once: ServiceAccounts
// appear, quotas get their status, definitions are established and served. So a
// client that does not wait is found out, without a clock.
type fakeServer struct {
	t *testing.T

	mu      sync.Mutex
	objects map[string]map[string]any
	// writes are the mutating requests, "apply namespaces/shop".
	writes []string
	asked  map[string]int
	// reject gives an answer to an apply, 0 for none.
	reject func(path string, sent map[string]any) (code int32, message string)
	uid    int
}

var fakeTypes = map[string][]metav1.APIResource{
	"v1": {
		{Name: "namespaces", Kind: "Namespace"}, {Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
		{Name: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}, {Name: "resourcequotas", Kind: "ResourceQuota", Namespaced: true},
		{Name: "persistentvolumes", Kind: "PersistentVolume"}, {Name: "persistentvolumeclaims", Kind: "PersistentVolumeClaim", Namespaced: true},
		{Name: "services", Kind: "Service", Namespaced: true}, {Name: "pods", Kind: "Pod", Namespaced: true}, {Name: "events", Kind: "Event", Namespaced: true},
		{Name: "nodes", Kind: "Node"},
	},
	"apps/v1":                   {{Name: "deployments", Kind: "Deployment", Namespaced: true}, {Name: "statefulsets", Kind: "StatefulSet", Namespaced: true}},
	"storage.k8s.io/v1":         {{Name: "storageclasses", Kind: "StorageClass"}},
	"autoscaling/v2":            {{Name: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}},
	"batch/v1":                  {{Name: "jobs", Kind: "Job", Namespaced: true}, {Name: "cronjobs", Kind: "CronJob", Namespaced: true}},
	"apiregistration.k8s.io/v1": {{Name: "apiservices", Kind: "APIService"}},
	"scheduling.k8s.io/v1":      {{Name: "priorityclasses", Kind: "PriorityClass"}},
	"node.k8s.io/v1":            {{Name: "runtimeclasses", Kind: "RuntimeClass"}},
	"networking.k8s.io/v1":      {{Name: "ingresses", Kind: "Ingress", Namespaced: true}},
	"admissionregistration.k8s.io/v1": {
		{Name: "validatingadmissionpolicies", Kind: "ValidatingAdmissionPolicy"}, {Name: "validatingadmissionpolicybindings", Kind: "ValidatingAdmissionPolicyBinding"},
		{Name: "mutatingadmissionpolicies", Kind: "MutatingAdmissionPolicy"}, {Name: "mutatingadmissionpolicybindings", Kind: "MutatingAdmissionPolicyBinding"},
	},
	"flowcontrol.apiserver.k8s.io/v1": {{Name: "prioritylevelconfigurations", Kind: "PriorityLevelConfiguration"}},
	"apiextensions.k8s.io/v1":         {{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}},
}

func newFakeServer(t *testing.T) (*fakeServer, *Cluster) {
	s := &fakeServer{t: t, objects: map[string]map[string]any{}, asked: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cluster, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s, cluster
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Trim(r.URL.Path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "api":
		s.answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	case path == "apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for gv := range s.types() {
			if group, version, ok := strings.Cut(gv, "/"); ok {
				v := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version}
				list.Groups = append(list.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
			}
		}
		s.answer(w, list)
		return
	}
	gv, rest := strings.Join(parts[1:min(len(parts), 3)], "/"), parts[min(len(parts), 3):]
	if parts[0] == "api" {
		gv, rest = parts[1], parts[2:]
	}
	resources, ok := s.types()[gv]
	switch {
	case !ok:
		s.status(w, 404, "the server could not find the requested resource")
	case len(rest) == 0:
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv}
		for _, r := range resources {
			r.Verbs = metav1.Verbs{"get", "list", "patch", "delete", "create"}
			list.APIResources = append(list.APIResources, r)
		}
		s.answer(w, list)
	default:
		if len(rest) > 2 && rest[0] == "namespaces" {
			rest = append([]string{rest[2]}, append(rest[3:], rest[1])...) // resource, name, namespace
		}
		s.object(w, r, gv, resources, rest)
	}
}

// types are those built in, and those defined by established definitions that
// have been asked for once.
func (s *fakeServer) types() map[string][]metav1.APIResource {
	types := map[string][]metav1.APIResource{}
	for gv, resources := range fakeTypes {
		types[gv] = resources
	}
	for path, o := range s.objects {
		if strings.HasPrefix(path, "customresourcedefinitions/") && s.asked[path] > 1 {
			kind, _, _ := unstructured.NestedString(o, "spec", "names", "kind")
			plural, _, _ := unstructured.NestedString(o, "spec", "names", "plural")
			group, _, _ := unstructured.NestedString(o, "spec", "group")
			types[group+"/v1"] = []metav1.APIResource{{Name: plural, Kind: kind, Namespaced: true}}
		}
	}
	return types
}

func (s *fakeServer) object(w http.ResponseWriter, r *http.Request, gv string, resources []metav1.APIResource, rest []string) {
	at := slices.IndexFunc(resources, func(known metav1.APIResource) bool { return known.Name == rest[0] })
	if at < 0 {
		s.status(w, 404, "the server could not find the requested resource")
		return
	}
	path := strings.Join(rest, "/")
	var sent map[string]any
	if r.Method == http.MethodPatch || r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			s.t.Errorf("%s %s: %v", r.Method, path, err)
		}
	}
	switch r.Method {
	case http.MethodGet:
		if len(rest) == 1 {
			list := map[string]any{"apiVersion": gv, "kind": resources[at].Kind + "List", "items": []any{}}
			for known, o := range s.objects {
				if strings.HasPrefix(known, rest[0]+"/") {
					list["items"] = append(list["items"].([]any), o)
				}
			}
			s.answer(w, list)
			return
		}
		s.asked[path]++
		s.later(path)
		if o := s.objects[path]; o != nil {
			s.answer(w, o)
			return
		}
		s.status(w, 404, path+" not found")
	case http.MethodPatch:
		if r.URL.Query().Get("dryRun") == "All" {
			s.probed(w, path)
			return
		}
		if r.Header.Get("Content-Type") == "application/merge-patch+json" {
			s.writes = append(s.writes, "merge "+path)
			s.answer(w, s.objects[path])
			return
		}
		s.writes = append(s.writes, "apply "+path)
		if r.URL.Query().Get("fieldManager") != FieldManager || r.URL.Query().Get("force") != "true" || r.URL.Query().Get("fieldValidation") != "Strict" {
			s.t.Errorf("apply %s with %s", path, r.URL.RawQuery)
		}
		if s.reject != nil {
			if code, message := s.reject(path, sent); code != 0 {
				s.status(w, code, message)
				return
			}
		}
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", "warned of "+path))
		s.store(path, sent)
		s.answer(w, s.objects[path])
	case http.MethodPost:
		name, _, _ := unstructured.NestedString(sent, "metadata", "name")
		path = strings.Join(append([]string{rest[0], name}, rest[1:]...), "/")
		s.writes = append(s.writes, "create "+path)
		s.store(path, sent)
		s.answer(w, s.objects[path])
	case http.MethodDelete:
		s.writes = append(s.writes, "delete "+path)
		delete(s.objects, path)
		s.status(w, 200, "")
	}
}

func (s *fakeServer) store(path string, sent map[string]any) {
	metadata := sent["metadata"].(map[string]any)
	if old := s.objects[path]; old != nil {
		metadata["uid"] = uidOf(old)
	} else {
		s.uid++
		metadata["uid"] = fmt.Sprintf("uid-%d", s.uid)
	}
	s.objects[path] = sent
}

// later does what controllers would have done by the second question.
func (s *fakeServer) later(path string) {
	o := s.objects[path]
	if s.asked[path] < 2 {
		return
	}
	switch kind, rest, _ := strings.Cut(path, "/"); {
	case kind == "serviceaccounts" && o == nil:
		name, ns, _ := strings.Cut(rest, "/")
		s.store(path, map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": name, "namespace": ns}})
	case kind == "resourcequotas" && o != nil:
		hard, _, _ := unstructured.NestedMap(o, "spec", "hard")
		o["status"] = map[string]any{"hard": hard}
	case kind == "customresourcedefinitions" && o != nil:
		o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	}
}

func (s *fakeServer) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		s.t.Error(err)
	}
}

func (s *fakeServer) status(w http.ResponseWriter, code int32, message string) {
	reason := map[int32]metav1.StatusReason{404: metav1.StatusReasonNotFound, 403: metav1.StatusReasonForbidden, 422: metav1.StatusReasonInvalid}[code]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	body := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Message: message, Reason: reason}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Error(err)
	}
}
