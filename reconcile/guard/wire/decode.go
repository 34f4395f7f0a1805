package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

// Object is an API object as unstructured.Unstructured holds one: maps,
// slices, strings, int64, float64, bool, nil.
type Object = map[string]any

// Decode reads any encoded object. Protobuf needs a type that client-go
// knows; JSON, YAML and CBOR do not.
func Decode(media string, body []byte) (Object, error) {
	var o Object
	var err error
	switch media {
	case JSON:
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, &o)
	case YAML:
		// Not yaml.ToJSON, which takes whatever begins with a brace for JSON: YAML
		// in flow style begins so too. This is what the API server decodes the body
		// of an apply with (k8s.io/apiserver v0.37.1 pkg/endpoints/handlers/patch.go).
		err = yaml.Unmarshal(body, &o)
	case CBOR:
		err = direct.Unmarshal(body, &o)
	case Protobuf:
		o, err = decodeProtobuf(body)
	default:
		return nil, fmt.Errorf("the media type %q is none the guard reads", media)
	}
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("the body holds no object")
	}
	return o, nil
}

func decodeProtobuf(body []byte) (Object, error) {
	typed, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	o["apiVersion"], o["kind"] = gvk.ToAPIVersionAndKind()
	return o, nil
}

// Kinds maps the resources of client-go's scheme to their kinds. It is a
// guess by upstream's own rule for plurals, right for every built-in type (a
// test compares some odd ones).
func Kinds(s *runtime.Scheme) map[schema.GroupVersionResource]schema.GroupVersionKind {
	kinds := map[schema.GroupVersionResource]schema.GroupVersionKind{}
	for gvk := range s.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		kinds[plural] = gvk
	}
	return kinds
}

// Head is what identifies an object.
type Head struct {
	APIVersion, Kind string
	Name             string
	GenerateName     string
	Namespace        string
	UID              string
	ResourceVersion  string
}

// IsStatus reports whether it is a Status, which has no ObjectMeta.
func (h Head) IsStatus() bool { return h.Kind == "Status" }

// ReadHead reads the head of an encoded object without decoding the rest where
// the encoding allows. It never fails: what it cannot read is empty.
func ReadHead(media string, body []byte) Head {
	switch media {
	case JSON:
		var o struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        struct {
				Name, GenerateName, Namespace, UID, ResourceVersion string
			} `json:"metadata"`
		}
		if json.Unmarshal(body, &o) != nil {
			return Head{}
		}
		m := o.Metadata
		return Head{o.APIVersion, o.Kind, m.Name, m.GenerateName, m.Namespace, m.UID, m.ResourceVersion}
	case Protobuf:
		return readProtobufHead(body)
	default:
		o, err := Decode(media, body)
		if err != nil {
			return Head{}
		}
		return HeadOf(o)
	}
}

// HeadOf is the Head of a decoded object.
func HeadOf(o Object) Head {
	h := Head{Name: MetaString(o, "name"), GenerateName: MetaString(o, "generateName"), Namespace: MetaString(o, "namespace"),
		UID: MetaString(o, "uid"), ResourceVersion: MetaString(o, "resourceVersion")}
	h.APIVersion, _ = o["apiVersion"].(string)
	h.Kind, _ = o["kind"].(string)
	return h
}

// readProtobufHead relies on metadata being field 1 of every API object, and on
// the field numbers of ObjectMeta (k8s.io/apimachinery v0.37.1
// pkg/apis/meta/v1/generated.proto). In a Status or a list, field 1 is a
// ListMeta, whose fields mean something else.
func readProtobufHead(body []byte) Head {
	raw, ok := bytes.CutPrefix(body, []byte(protobufMagic))
	if !ok {
		return Head{}
	}
	typeMeta := bytesField(raw, 1)
	h := Head{APIVersion: string(bytesField(typeMeta, 1)), Kind: string(bytesField(typeMeta, 2))}
	if h.IsStatus() {
		return h
	}
	metadata := bytesField(bytesField(raw, 2), 1)
	for len(metadata) > 0 {
		number, kind, n := protowire.ConsumeTag(metadata)
		if n < 0 {
			return h
		}
		if kind != protowire.BytesType {
			skipped := protowire.ConsumeFieldValue(number, kind, metadata[n:])
			if skipped < 0 {
				return h
			}
			metadata = metadata[n+skipped:]
			continue
		}
		value, taken := protowire.ConsumeBytes(metadata[n:])
		if taken < 0 {
			return h
		}
		switch number {
		case 1:
			h.Name = string(value)
		case 2:
			h.GenerateName = string(value)
		case 3:
			h.Namespace = string(value)
		case 5:
			h.UID = string(value)
		case 6:
			h.ResourceVersion = string(value)
			return h
		}
		metadata = metadata[n+taken:]
	}
	return h
}

// bytesField returns the first value of a length-delimited field, or nil.
func bytesField(message []byte, want protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		if number == want && kind == protowire.BytesType {
			value, taken := protowire.ConsumeBytes(message[n:])
			if taken < 0 {
				return nil
			}
			return value
		}
		skipped := protowire.ConsumeFieldValue(number, kind, message[n:])
		if skipped < 0 {
			return nil
		}
		message = message[n+skipped:]
	}
	return nil
}

// ReadStatus reads a Status, or returns false if the body is none.
func ReadStatus(media string, body []byte) (metav1.Status, bool) {
	var status metav1.Status
	var err error
	switch media {
	case JSON:
		err = json.Unmarshal(body, &status)
	case Protobuf:
		err = decodeStrict(media, body, &status)
	case CBOR:
		err = direct.Unmarshal(body, &status)
	default:
		return status, false
	}
	return status, err == nil && status.Kind == "Status"
}

// Meta is the metadata of an object; nil where it has none.
func Meta(o Object) Object {
	m, _ := o["metadata"].(Object)
	return m
}

// MetaString is a field of the metadata that is a string; empty where it is none.
func MetaString(o Object, field string) string {
	s, _ := Meta(o)[field].(string)
	return s
}

// WithMeta returns a copy of o, shallow but for metadata, which edit may
// change. A field set to "" is removed.
func WithMeta(o Object, edit func(m Object)) Object {
	copied := make(Object, len(o))
	for k, v := range o {
		copied[k] = v
	}
	m := make(Object, len(Meta(o))+4)
	for k, v := range Meta(o) {
		m[k] = v
	}
	edit(m)
	for k, v := range m {
		if v == "" || v == nil {
			delete(m, k)
		}
	}
	copied["metadata"] = m
	return copied
}

// GVR is the type of an object, as schemes name it.
func GVR(ref state.Ref) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: ref.Group, Version: ref.Version, Resource: ref.Resource}
}
