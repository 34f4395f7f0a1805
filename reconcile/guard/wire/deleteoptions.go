package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// The media types that are read.
const (
	JSON     = runtime.ContentTypeJSON
	Protobuf = runtime.ContentTypeProtobuf
	CBOR     = runtime.ContentTypeCBOR
	YAML     = runtime.ContentTypeYAML
)

// Every protobuf body begins with these bytes and a runtime.Unknown follows
// (k8s.io/apimachinery v0.37.1 pkg/runtime/serializer/protobuf). A CBOR body
// may begin with the tag that says it is one.
const (
	protobufMagic = "k8s\x00"
	cborMagic     = "\xd9\xd9\xf7"
)

// Field numbers of meta/v1 DeleteOptions and policy/v1 Eviction.
const (
	deleteOptionsDryRun   protowire.Number = 5
	evictionDeleteOptions protowire.Number = 2
)

// DecodeDeleteOptions reads DeleteOptions as the API server does. An empty body
// is empty options.
func DecodeDeleteOptions(media string, body []byte) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(body) == 0 {
		return options, nil
	}
	if err := decodeStrict(media, body, options); err != nil {
		return nil, fmt.Errorf("decode the DeleteOptions in the body: %w", err)
	}
	if options.Kind != "" && options.Kind != "DeleteOptions" {
		return nil, fmt.Errorf("decode the DeleteOptions in the body: it is a %q", options.Kind)
	}
	return options, nil
}

// decodeStrict decodes a body into a typed object and refuses what upstream's
// lax decoders resolve silently: fields given twice.
func decodeStrict(media string, body []byte, into runtime.Object) error {
	switch media {
	case YAML:
		body, err := yamlToJSON(body)
		if err != nil {
			return err
		}
		return decodeStrict(JSON, body, into)
	case JSON:
		strict, err := kjson.UnmarshalStrict(body, into, kjson.DisallowDuplicateFields)
		if err != nil {
			return err
		}
		return errors.Join(strict...)
	case Protobuf:
		unknown, err := openEnvelope(body)
		if err != nil {
			return err
		}
		message, ok := into.(interface{ Unmarshal([]byte) error })
		if !ok {
			return fmt.Errorf("%T has no protobuf form", into)
		}
		into.GetObjectKind().SetGroupVersionKind(unknown.GroupVersionKind())
		return message.Unmarshal(unknown.Raw)
	case CBOR:
		return direct.Unmarshal(body, into)
	default:
		return fmt.Errorf("the media type %q is none the guard reads", media)
	}
}

// yamlToJSON reads YAML as the API server does, but that keys given twice are refused.
func yamlToJSON(body []byte) ([]byte, error) { return yaml.YAMLToJSONStrict(body) }

func openEnvelope(body []byte) (*runtime.Unknown, error) {
	raw, ok := bytes.CutPrefix(body, []byte(protobufMagic))
	if !ok {
		return nil, errors.New("the body is not what its media type says: it lacks the protobuf prefix")
	}
	unknown := &runtime.Unknown{}
	if err := unknown.Unmarshal(raw); err != nil {
		return nil, err
	}
	return unknown, nil
}

func closeEnvelope(unknown *runtime.Unknown) ([]byte, error) {
	raw, err := unknown.Marshal()
	if err != nil {
		return nil, err
	}
	return append([]byte(protobufMagic), raw...), nil
}

// DryDeleteOptions returns the body with dryRun set to All and everything else
// as it was, and the media type to send it as. Where there was no body, the
// options are those of the query, and become one in JSON.
func DryDeleteOptions(media string, body []byte, query url.Values) ([]byte, string, error) {
	if len(body) == 0 {
		var options metav1.DeleteOptions
		if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&query, &options, nil); err != nil {
			return nil, "", fmt.Errorf("decode the DeleteOptions in the query: %w", err)
		}
		options.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
		options.DryRun = []string{metav1.DryRunAll}
		body, err := json.Marshal(options)
		return body, JSON, err
	}
	body, media, err := asJSON(media, body)
	if err != nil {
		return nil, "", fmt.Errorf("decode the DeleteOptions in the body: %w", err)
	}
	options, err := DecodeDeleteOptions(media, body)
	if err != nil {
		return nil, "", err
	}
	switch media {
	case JSON:
		body, err = setJSON(body, "dryRun", func(json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`["All"]`), nil
		})
	case Protobuf:
		var unknown *runtime.Unknown
		if unknown, err = openEnvelope(body); err == nil {
			if unknown.Raw, err = dryProtobuf(unknown.Raw); err == nil {
				body, err = closeEnvelope(unknown)
			}
		}
	case CBOR:
		options.DryRun = []string{metav1.DryRunAll}
		if body, err = direct.Marshal(options); err == nil {
			body = append([]byte(cborMagic), body...)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("set dryRun in the DeleteOptions of the body: %w", err)
	}
	return body, media, nil
}

// asJSON makes JSON of a body in YAML, which is what is sent then: there is one way to
// read it.
func asJSON(media string, body []byte) ([]byte, string, error) {
	if media != YAML {
		return body, media, nil
	}
	body, err := yamlToJSON(body)
	return body, JSON, err
}

// setJSON replaces one member of a JSON object and keeps the others byte for
// byte. Spellings of the name that differ in case only go as well: one server
// ignores them, another may not.
func setJSON(object []byte, name string, replace func(old json.RawMessage) (json.RawMessage, error)) ([]byte, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	if members == nil { // the body was null
		members = map[string]json.RawMessage{}
	}
	value, err := replace(members[name])
	if err != nil {
		return nil, err
	}
	for other := range members {
		if strings.EqualFold(other, name) {
			delete(members, other)
		}
	}
	members[name] = value
	return json.Marshal(members)
}

// dryProtobuf replaces the dryRun of an encoded DeleteOptions and keeps the
// other fields byte for byte, those it does not know too.
func dryProtobuf(message []byte) ([]byte, error) {
	out := make([]byte, 0, len(message)+5)
	err := eachField(message, func(number protowire.Number, field []byte) error {
		if number != deleteOptionsDryRun {
			out = append(out, field...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out = protowire.AppendTag(out, deleteOptionsDryRun, protowire.BytesType)
	return protowire.AppendString(out, metav1.DryRunAll), nil
}

// eachField calls visit with each top-level field of an encoded message, tag
// included.
func eachField(message []byte, visit func(number protowire.Number, field []byte) error) error {
	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := visit(number, message[:n]); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// DecodeEviction reads an Eviction of policy/v1 or v1beta1, which look alike.
func DecodeEviction(media string, body []byte) (*policyv1.Eviction, error) {
	eviction := &policyv1.Eviction{}
	if err := decodeStrict(media, body, eviction); err != nil {
		return nil, fmt.Errorf("decode the Eviction in the body: %w", err)
	}
	if eviction.Kind != "" && eviction.Kind != "Eviction" {
		return nil, fmt.Errorf("decode the Eviction in the body: it is a %q", eviction.Kind)
	}
	return eviction, nil
}

// DryEviction returns the body with the dryRun of its DeleteOptions set to All, and the
// media type to send it as.
// The API server compares that with the query and fails where they differ
// (k8s.io/kubernetes v1.37.1 pkg/registry/core/pod/storage/eviction.go).
func DryEviction(media string, body []byte) ([]byte, string, error) {
	body, media, err := asJSON(media, body)
	if err != nil {
		return nil, "", fmt.Errorf("decode the Eviction in the body: %w", err)
	}
	eviction, err := DecodeEviction(media, body)
	if err != nil {
		return nil, "", err
	}
	switch media {
	case JSON:
		body, err = setJSON(body, "deleteOptions", func(old json.RawMessage) (json.RawMessage, error) {
			if old == nil {
				old = json.RawMessage("{}")
			}
			return setJSON(old, "dryRun", func(json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`["All"]`), nil
			})
		})
	case Protobuf:
		var unknown *runtime.Unknown
		if unknown, err = openEnvelope(body); err == nil {
			if unknown.Raw, err = dryEvictionProtobuf(unknown.Raw); err == nil {
				body, err = closeEnvelope(unknown)
			}
		}
	case CBOR:
		if eviction.DeleteOptions == nil {
			eviction.DeleteOptions = &metav1.DeleteOptions{}
		}
		eviction.DeleteOptions.DryRun = []string{metav1.DryRunAll}
		if body, err = direct.Marshal(eviction); err == nil {
			body = append([]byte(cborMagic), body...)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("set dryRun in the Eviction of the body: %w", err)
	}
	return body, media, nil
}

func dryEvictionProtobuf(message []byte) ([]byte, error) {
	var out, options []byte
	err := eachField(message, func(number protowire.Number, field []byte) error {
		if number != evictionDeleteOptions {
			out = append(out, field...)
			return nil
		}
		_, _, tag := protowire.ConsumeTag(field)
		value, n := protowire.ConsumeBytes(field[tag:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		// A field given twice is merged by the server, and so is the
		// concatenation of both.
		options = append(options, value...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if options, err = dryProtobuf(options); err != nil {
		return nil, err
	}
	out = protowire.AppendTag(out, evictionDeleteOptions, protowire.BytesType)
	return protowire.AppendBytes(out, options), nil
}

// OnlyAll reports whether the values of a dryRun make a dry run in the one
// form the guard sends.
func OnlyAll(dryRun []string) bool { return slices.Equal(dryRun, []string{metav1.DryRunAll}) }
