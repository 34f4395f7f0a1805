package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

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

// object is an API object as unstructured.Unstructured holds one: maps,
// slices, strings, int64, float64, bool, nil.
type object = map[string]any

// decodeObject reads any encoded object. Protobuf needs a type that client-go
// knows; JSON, YAML and CBOR do not.
func decodeObject(media string, body []byte) (object, error) {
	var o object
	var err error
	switch media {
	case mediaJSON:
		err = kjson.UnmarshalCaseSensitivePreserveInts(body, &o)
	case mediaYAML:
		// Not yaml.ToJSON, which takes whatever begins with a brace for JSON: YAML
		// in flow style begins so too. This is what the API server decodes the body
		// of an apply with (k8s.io/apiserver v0.37.1 pkg/endpoints/handlers/patch.go).
		err = yaml.Unmarshal(body, &o)
	case mediaCBOR:
		err = direct.Unmarshal(body, &o)
	case mediaProtobuf:
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

func decodeProtobuf(body []byte) (object, error) {
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

// kindsOf maps the resources of client-go's scheme to their kinds. It is a
// guess by upstream's own rule for plurals, right for every built-in type (a
// test compares some odd ones).
func kindsOf(s *runtime.Scheme) map[schema.GroupVersionResource]schema.GroupVersionKind {
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

// head is what the record wants to know of an object.
type head struct {
	apiVersion, kind string
	name             string
	generateName     string
	namespace        string
	uid              string
	resourceVersion  string
}

func (h head) isStatus() bool { return h.kind == "Status" }

// readHead reads the head of an encoded object without decoding the rest where
// the encoding allows. It never fails: what it cannot read is empty.
func readHead(media string, body []byte) head {
	switch media {
	case mediaJSON:
		var o struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        struct {
				Name, GenerateName, Namespace, UID, ResourceVersion string
			} `json:"metadata"`
		}
		if json.Unmarshal(body, &o) != nil {
			return head{}
		}
		m := o.Metadata
		return head{o.APIVersion, o.Kind, m.Name, m.GenerateName, m.Namespace, m.UID, m.ResourceVersion}
	case mediaProtobuf:
		return readProtobufHead(body)
	default:
		o, err := decodeObject(media, body)
		if err != nil {
			return head{}
		}
		return headOf(o)
	}
}

func headOf(o object) head {
	h := head{name: metaString(o, "name"), generateName: metaString(o, "generateName"), namespace: metaString(o, "namespace"),
		uid: metaString(o, "uid"), resourceVersion: metaString(o, "resourceVersion")}
	h.apiVersion, _ = o["apiVersion"].(string)
	h.kind, _ = o["kind"].(string)
	return h
}

// readProtobufHead relies on metadata being field 1 of every API object, and on
// the field numbers of ObjectMeta (k8s.io/apimachinery v0.37.1
// pkg/apis/meta/v1/generated.proto). In a Status or a list, field 1 is a
// ListMeta, whose fields mean something else.
func readProtobufHead(body []byte) head {
	raw, ok := bytes.CutPrefix(body, []byte(protobufMagic))
	if !ok {
		return head{}
	}
	typeMeta := bytesField(raw, 1)
	h := head{apiVersion: string(bytesField(typeMeta, 1)), kind: string(bytesField(typeMeta, 2))}
	if h.isStatus() {
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
			h.name = string(value)
		case 2:
			h.generateName = string(value)
		case 3:
			h.namespace = string(value)
		case 5:
			h.uid = string(value)
		case 6:
			h.resourceVersion = string(value)
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

// readStatus reads a Status, or returns false if the body is none.
func readStatus(media string, body []byte) (metav1.Status, bool) {
	var status metav1.Status
	var err error
	switch media {
	case mediaJSON:
		err = json.Unmarshal(body, &status)
	case mediaProtobuf:
		err = decodeStrict(media, body, &status)
	case mediaCBOR:
		err = direct.Unmarshal(body, &status)
	default:
		return status, false
	}
	return status, err == nil && status.Kind == "Status"
}

func metaOf(o object) object {
	m, _ := o["metadata"].(object)
	return m
}

func metaString(o object, field string) string {
	s, _ := metaOf(o)[field].(string)
	return s
}

// withMeta returns a copy of o, shallow but for metadata, which edit may
// change. A field set to "" is removed.
func withMeta(o object, edit func(m object)) object {
	copied := make(object, len(o))
	for k, v := range o {
		copied[k] = v
	}
	m := make(object, len(metaOf(o))+4)
	for k, v := range metaOf(o) {
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
