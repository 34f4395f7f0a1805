package redact

import (
	"encoding/json"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Hidden stands for a value that may not leave the cluster.
const Hidden = "***"

// appliedAnnotations hold a copy of the whole object, as a tool applied it:
// with the values of a Secret, and possibly with what a user removed since.
var appliedAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"objectset.rio.cattle.io/applied",
	"banzaicloud.com/last-applied",
	"kapp.k14s.io/original",
	"kopf.zalando.org/last-handled-configuration",
}

// openAnnotations are those of a Secret that say what it is for. All others may
// hold its values, and are hidden.
var openAnnotations = []string{
	"kubernetes.io/service-account.name",
	"kubernetes.io/service-account.uid",
	"meta.helm.sh/release-name",
	"meta.helm.sh/release-namespace",
}

// Redact gives a copy of an object without what must not be shown or recorded:
//
//   - of a Secret the values under data and stringData and of every annotation
//     that is not known to be harmless become Hidden, and
//     last-applied-configuration goes. The names of the keys stay.
//   - of any other object the annotations that hold a copy of it become Hidden.
//   - the tokens of TokenRequests and TokenReviews become Hidden.
//   - of an Event about a Secret the message becomes Hidden: it may quote the Secret.
//   - metadata.managedFields goes: it is noise.
//
// A Secret is known by its Ref, and by its kind wherever one stands inside
// another object, such as a List. The object is not modified, and the copy
// shares nothing with it. A nil object gives nil.
func Redact(ref state.Ref, obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	r := redactor{hide: func(any) any { return Hidden }}
	return r.object(obj, kindOf(ref, obj))
}

// sensitive tells the kinds of objects that hold values to hide.
type sensitive int

const (
	plain sensitive = iota
	secret
	token
	toldOfSecret // an Event about a Secret
)

// kindOf tells by the Ref or the object's own word, whichever is worse.
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

// TellsOfSecret reports whether an object is an Event about a Secret, of either of the
// API's groups. It goes by the fields: items of a list do not say what they are.
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

// redactor copies objects, with one idea of what becomes of a hidden value.
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
			// A list that was asked for as secrets: its items need not say
			// what they are.
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

// foreign brings what no JSON decoder makes into the form that one does, so
// that nothing escapes the rules by its Go type.
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
