package diagnosis

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// servedType is a type of the test's API server.
type servedType struct {
	groupVersion, group, version, kind, resource string
	namespaced                                   bool
}

// faultTypes is what the API server of a world serves, in the form of serves.
const faultTypes = serves + `
v1 LimitRange limitranges
v1 PersistentVolume persistentvolumes -
apps/v1 ControllerRevision controllerrevisions
networking.k8s.io/v1 Ingress ingresses
scheduling.k8s.io/v1 PriorityClass priorityclasses -
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies -
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations -
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations -
storage.k8s.io/v1 CSIDriver csidrivers -
coordination.k8s.io/v1 Lease leases
apiregistration.k8s.io/v1 APIService apiservices -
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions -
shop.example/v1 Backup backups
`

var servedTypes = sync.OnceValue(func() []servedType {
	var out []servedType
	for line := range strings.SplitSeq(faultTypes, "\n") {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		s := servedType{groupVersion: f[0], version: f[0], kind: f[1], resource: f[2], namespaced: len(f) == 3}
		if group, version, has := strings.Cut(f[0], "/"); has {
			s.group, s.version = group, version
		}
		out = append(out, s)
	}
	return out
})

// RoundTrip answers in this process: a world needs no port.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	out := httptest.NewRecorder()
	w.ServeHTTP(out, req)
	answer := out.Result()
	answer.Request = req
	return answer, nil
}

// ServeHTTP answers as kube-apiserver does: discovery, GET and LIST, of whole
// objects and of their metadata.
func (w *world) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	reply := func(code int, v any) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(code)
		_ = json.NewEncoder(out).Encode(v)
	}
	status := func(code int, reason metav1.StatusReason) {
		reply(code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: string(reason) + " " + req.URL.Path})
	}
	if req.Method != http.MethodGet {
		status(405, metav1.StatusReasonMethodNotAllowed)
		return
	}
	path := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(path) == 1 && path[0] == "api":
		reply(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
		return
	case len(path) == 1 && path[0] == "apis":
		reply(200, groupList())
		return
	case len(path) == 2 && path[0] == "api":
		reply(200, resourceList(path[1]))
		return
	case len(path) == 3 && path[0] == "apis":
		reply(200, resourceList(path[1]+"/"+path[2]))
		return
	}
	group, rest := "", path[2:]
	if path[0] == "apis" {
		group, rest = path[1], path[3:]
	}
	namespace := ""
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	i := slices.IndexFunc(servedTypes(), func(s servedType) bool { return s.group == group && s.resource == rest[0] })
	switch {
	case i < 0:
		status(404, metav1.StatusReasonNotFound)
		return
	case w.forbidden[rest[0]]:
		status(403, metav1.StatusReasonForbidden)
		return
	}
	s := servedTypes()[i]
	slim := strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata")
	if len(rest) > 1 {
		o := w.objects[rest[0]+" "+namespace+"/"+rest[1]]
		if o == nil {
			status(404, metav1.StatusReasonNotFound)
			return
		}
		reply(200, trimmed(o, slim))
		return
	}
	kind, apiVersion := s.kind+"List", s.groupVersion
	if slim {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	items := []any{}
	for _, key := range w.order {
		o := w.objects[key]
		if o != nil && strings.HasPrefix(key, rest[0]+" ") && w.selected(o, namespace, req) {
			items = append(items, trimmed(o, slim))
		}
	}
	reply(200, map[string]any{"kind": kind, "apiVersion": apiVersion, "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
}

func (w *world) selected(o map[string]any, namespace string, req *http.Request) bool {
	u := unstructured.Unstructured{Object: o}
	if namespace != "" && u.GetNamespace() != namespace {
		return false
	}
	if text := req.URL.Query().Get("labelSelector"); text != "" {
		selector, err := labels.Parse(text)
		if err != nil || !selector.Matches(labels.Set(u.GetLabels())) {
			return false
		}
	}
	if text := req.URL.Query().Get("fieldSelector"); text != "" {
		for term := range strings.SplitSeq(text, ",") {
			field, want, _ := strings.Cut(term, "=")
			if have, _, _ := unstructured.NestedString(o, strings.Split(field, ".")...); have != want {
				return false
			}
		}
	}
	return true
}

func trimmed(o map[string]any, slim bool) map[string]any {
	if !slim {
		return o
	}
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o["metadata"]}
}

func groupList() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, s := range servedTypes() {
		if s.group == "" || slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == s.group }) {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: s.groupVersion, Version: s.version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: s.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return list
}

func resourceList(groupVersion string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
	for _, s := range servedTypes() {
		if s.groupVersion == groupVersion {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: s.resource, SingularName: strings.ToLower(s.kind), Kind: s.kind, Namespaced: s.namespaced, Verbs: metav1.Verbs{"get", "list", "watch", "delete"},
			})
		}
	}
	return list
}
