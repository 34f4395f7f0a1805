package request

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Kind is what sort of request something is.
type Kind string

const (
	// KindRead changes nothing.
	KindRead Kind = "read"
	// KindWrite changes an object, and is one the guard knows.
	KindWrite Kind = "write"
	// KindReview is a POST that asks a question and persists nothing.
	KindReview Kind = "review"
	// KindConnect opens a way to a kubelet, a pod or a service.
	KindConnect Kind = "connect"
	// KindUpgrade asks for another protocol on the connection.
	KindUpgrade Kind = "upgrade"
	// KindUnknown is everything else.
	KindUnknown Kind = "unknown"
)

// Request is what a request asks for, as the API server will read it.
type Request struct {
	Kind Kind
	// Verb is get, list, watch, create, update, patch, apply, delete,
	// deletecollection or connect; the method in lower case for what is not a
	// resource. A watch asked for by query parameter is a list here.
	Verb string
	// Object has no Name for creates and collections, and never a UID. A
	// Namespace object is not in itself: its Namespace is empty.
	Object      state.Ref
	Subresource string
	// Why says what was not understood, for KindUnknown.
	Why string
}

// Classify reads a request. The path must begin at the server's root: where
// the server sits below a prefix, take that off first (Options.BasePath does).
func Classify(method string, u *url.URL, header http.Header) Request {
	if method == "" {
		method = http.MethodGet
	}
	r := parse(method, u, header)
	if r.Kind != KindUnknown && asksUpgrade(header) {
		r.Kind, r.Why = KindUpgrade, ""
	}
	if overridesMethod(header) {
		r.Kind, r.Why = KindUnknown, "a header asks for another method"
	}
	return r
}

// Unknown is a request that was not understood, with the reason.
func Unknown(verb, why string) Request {
	return Request{Kind: KindUnknown, Verb: verb, Why: why}
}

// parse follows RequestInfoFactory.NewRequestInfo of k8s.io/apiserver v0.37.1,
// but where upstream makes the best of a strange path, it gives up.
func parse(method string, u *url.URL, header http.Header) Request {
	verb := strings.ToLower(method)
	if u.Opaque != "" || u.RawPath != "" && strings.Count(u.RawPath, "/") != strings.Count(u.Path, "/") {
		return Unknown(verb, "the path hides a slash")
	}
	parts, clean := split(u.Path)
	if !clean {
		return Unknown(verb, "the path has empty or dotted segments")
	}
	reads := method == http.MethodGet || method == http.MethodHead

	var group, version string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	case reads && readable(u.Path):
		return Request{Kind: KindRead, Verb: verb}
	default:
		return Unknown(verb, "the path is not one of an API object")
	}

	r := Request{Verb: verb, Object: state.Ref{Group: group, Version: version}}
	watch := false
	if parts[0] == "watch" || parts[0] == "proxy" {
		if len(parts) < 2 {
			return Unknown(verb, "the path ends where a resource should follow")
		}
		if parts[0] == "proxy" {
			r.Kind, r.Verb = KindConnect, "connect"
			return r
		}
		watch, parts = true, parts[1:]
	}

	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		r.Object.Namespace, parts = parts[1], parts[2:]
	}
	r.Object.Resource = parts[0]
	if len(parts) > 1 {
		r.Object.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}

	switch {
	case slices.Contains(connectSubresources, r.Subresource):
		r.Kind, r.Verb = KindConnect, "connect"
	case len(parts) > 3:
		r.Kind, r.Why = KindUnknown, "the path goes on behind the subresource"
	case reads:
		r.Kind, r.Verb = KindRead, readVerb(watch, r.Object.Name)
	case watch:
		r.Kind, r.Why = KindUnknown, "a watch is read with GET only"
	default:
		r.classifyWrite(method, header)
	}
	return r
}

func readVerb(watch bool, name string) string {
	switch {
	case watch:
		return "watch"
	case name == "":
		return "list"
	default:
		return "get"
	}
}

// classifyWrite sets kind and verb of a request on a resource that is not a
// read.
func (r *Request) classifyWrite(method string, header http.Header) {
	r.Kind = KindUnknown
	named, sub := r.Object.Name != "", r.Subresource != ""
	switch method {
	case http.MethodPost:
		r.Verb = "create"
		switch {
		case !named && isReview(r.Object.Group, r.Object.Resource, r.Object.Namespace != ""):
			r.Kind = KindReview
			return
		case named && !sub:
			r.Why = "nothing is created under a name in the path"
			return
		}
	case http.MethodPut, http.MethodPatch:
		r.Verb = "update"
		if method == http.MethodPatch {
			r.Verb = "patch"
			if isApply(header) {
				r.Verb = "apply"
			}
		}
		if !named {
			r.Why = "the path names no object to change"
			return
		}
	case http.MethodDelete:
		r.Verb = "delete"
		if !named {
			r.Verb = "deletecollection"
		}
		if sub {
			r.Why = "subresources are not deleted"
			return
		}
	default:
		r.Why = "the method is not one of the API's"
		return
	}
	if sub && !subresourceTakes(r.Object.Group, r.Object.Resource, r.Subresource, r.Verb) {
		r.Why = "the subresource is not known to take this verb"
		return
	}
	r.Kind = KindWrite
}

// split gives the segments of a path. It is not clean if the server could read
// it in more than one way. One slash at the end is no matter.
func split(path string) (parts []string, clean bool) {
	if path == "" || path == "/" {
		return nil, true
	}
	if path[0] != '/' {
		return nil, false
	}
	parts = strings.Split(strings.TrimSuffix(path[1:], "/"), "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return nil, false
		}
	}
	return parts, true
}

func readable(path string) bool {
	if path == "" {
		return true
	}
	return slices.ContainsFunc(readablePaths, func(p string) bool {
		return path == p || len(p) > 1 && p[len(p)-1] == '/' && strings.HasPrefix(path, p)
	})
}

// asksUpgrade looks at every spelling of the header names: the wire has no
// canonical one.
func asksUpgrade(header http.Header) bool {
	for name, values := range header {
		switch {
		case strings.EqualFold(name, "Upgrade"):
			return true
		case strings.EqualFold(name, "Connection"):
			for _, v := range values {
				if strings.Contains(strings.ToLower(v), "upgrade") {
					return true
				}
			}
		}
	}
	return false
}

// MediaType is the Content-Type without parameters; empty means JSON to the
// server, and "?" is none at all.
func MediaType(header http.Header) string {
	value := header.Get("Content-Type")
	if value == "" {
		return "application/json"
	}
	t, _, err := mime.ParseMediaType(value)
	if err != nil {
		return "?"
	}
	return t
}

func isApply(header http.Header) bool {
	t := MediaType(header)
	return t == string(types.ApplyYAMLPatchType) || t == string(types.ApplyCBORPatchType)
}

// overridesMethod reports whether a header asks for another method than the
// request's: kube-apiserver knows none of them, but something in between may.
// Some servers read an underscore as a dash.
func overridesMethod(header http.Header) bool {
	for name := range header {
		if len(name) > len("x-http-method-override") || len(name) < len("x-http-method") {
			continue // at no cost, for most
		}
		switch strings.ReplaceAll(strings.ToLower(name), "_", "-") {
		case "x-http-method", "x-http-method-override", "x-method-override":
			return true
		}
	}
	return false
}
