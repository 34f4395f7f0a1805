package redact

import (
	"encoding/json"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Hidden replaces a value that must not leave the cluster.
const Hidden = "***"

// appliedAnnotations contain a copy of the complete object as a tool applied it: with
// the values of a Secret, and possibly with values that a user has removed since.
var appliedAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"objectset.rio.cattle.io/applied",
	"banzaicloud.com/last-applied",
	"kapp.k14s.io/original",
	"kopf.zalando.org/last-handled-configuration",
}

// openAnnotations are annotations of a Secret that describe its purpose. All others may
// contain its values and are hidden.
var openAnnotations = []string{
	"kubernetes.io/service-account.name",
	"kubernetes.io/service-account.uid",
	"meta.helm.sh/release-name",
	"meta.helm.sh/release-namespace",
}

// Redact returns a copy of an object without what must not be shown or recorded:
//
//   - Of a Secret, the values under data and stringData and of every annotation that is not known to be harmless become Hidden, and last-applied-configuration is removed. Key names stay.
//   - Of any other object, annotations that contain a copy of it become Hidden.
//   - The tokens of TokenRequests and TokenReviews become Hidden.
//   - The message of an Event about a Secret becomes Hidden: it may quote the Secret.
//   - metadata.managedFields is removed.
//
// A Secret is recognised by its Ref, and by its kind if it is nested in another object,
// such as a List. The object is not modified, and the copy shares nothing with it. A
// nil object returns nil.
func Redact(ref state.Ref, obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	r := redactor{hide: func(any) any { return Hidden }}
	return r.object(obj, kindOf(ref, obj))
}

// sensitive reports which kinds of objects contain values to hide.
type sensitive int

const (
	plain sensitive = iota
	secret
	token
	toldOfSecret // an Event about a Secret
)

// kindOf uses the Ref or the object's own kind, whichever hides more.
func kindOf(ref state.Ref, obj map[string]any) sensitive {
	if ref.Group == "" && ref.Resource == "secrets" {
		return secret
	}
	if ref.Resource == "tokenreviews" || ref.Resource == "tokenrequests" {
		return token
	}
	return kindOfObject(obj)
}

func kindOfObject(obj map[string]any) sensitive {
	switch obj["kind"] {
	case "Secret", "SecretList":
		return secret
	case "TokenRequest", "TokenReview":
		return token
	}
	if TellsOfSecret(obj) {
		return toldOfSecret
	}
	return plain
}

// TellsOfSecret reports whether an object is an Event about a Secret, of either API
// group. It checks the fields, because items of a list have no kind.
func TellsOfSecret(obj map[string]any) bool {
	for _, field := range []string{"involvedObject", "regarding"} {
		about, _ := obj[field].(map[string]any)
		version, _ := about["apiVersion"].(string)
		if about["kind"] == "Secret" && (version == "" || version == "v1") {
			return true
		}
	}
	return false
}

// redactor copies objects and defines how hidden values are replaced.
type redactor struct {
	hide func(any) any
}

func (r redactor) object(obj map[string]any, kind sensitive) map[string]any {
	out := make(map[string]any, len(obj))
	for field, v := range obj {
		switch {
		case kind == secret && (field == "data" || field == "stringData"):
			out[field] = r.hideValues(v)
		case kind == token && (field == "status" || field == "spec"):
			out[field] = r.hideToken(v)
		case kind == toldOfSecret && (field == "message" || field == "note"):
			out[field] = r.hide(v)
		case field == "metadata":
			out[field] = r.metadata(v, kind)
		case field == "items" && kind == secret:
			// A list requested as secrets: its items may have no kind.
			out[field] = r.items(v, kind)
		default:
			out[field] = r.value(v)
		}
	}
	return out
}

func (r redactor) items(v any, kind sensitive) any {
	list, ok := v.([]any)
	if !ok {
		return r.hide(v)
	}
	out := make([]any, len(list))
	for i, item := range list {
		if m, ok := item.(map[string]any); ok {
			out[i] = r.object(m, kind)
		} else {
			out[i] = r.hide(item)
		}
	}
	return out
}

func (r redactor) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return r.object(v, kindOfObject(v))
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.value(item)
		}
		return out
	case nil, bool, string, int64, float64, json.Number:
		return v
	}
	return r.foreign(v)
}

// foreign converts types that no JSON decoder produces, so that nothing escapes the
// rules through its Go type.
func (r redactor) foreign(v any) any {
	text, err := state.Marshal(v)
	if err != nil {
		return r.hide(v)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return r.hide(v)
	}
	return r.value(plain)
}

func (r redactor) hideValues(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil
		}
		return r.hide(v)
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		out[key] = r.hide(v)
	}
	return out
}

func (r redactor) hideToken(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return r.hide(v)
	}
	out := make(map[string]any, len(m))
	for field, v := range m {
		if field == "token" {
			out[field] = r.hide(v)
		} else {
			out[field] = r.value(v)
		}
	}
	return out
}

func (r redactor) metadata(v any, kind sensitive) any {
	m, ok := v.(map[string]any)
	if !ok {
		return r.value(v)
	}
	out := make(map[string]any, len(m))
	for field, v := range m {
		switch field {
		case "managedFields":
		case "annotations":
			out[field] = r.annotations(v, kind)
		default:
			out[field] = r.value(v)
		}
	}
	return out
}

func (r redactor) annotations(v any, kind sensitive) any {
	m, ok := v.(map[string]any)
	if !ok {
		if kind == secret && v != nil {
			return r.hide(v)
		}
		return r.value(v)
	}
	out := make(map[string]any, len(m))
	for name, v := range m {
		switch {
		case slices.Contains(appliedAnnotations, name):
			if kind != secret {
				out[name] = r.hide(v)
			}
		case kind == secret && !slices.Contains(openAnnotations, name):
			out[name] = r.hide(v)
		default:
			out[name] = r.value(v)
		}
	}
	return out
}
