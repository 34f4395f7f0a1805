package wire

import (
	"bytes"
	"net/url"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

// serializers are upstream's own, as kube-apiserver picks them by Content-Type.
func serializers() map[string]runtime.Serializer {
	s := scheme.Scheme
	return map[string]runtime.Serializer{
		JSON:     json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s, json.SerializerOptions{}),
		YAML:     json.NewSerializerWithOptions(json.DefaultMetaFactory, s, s, json.SerializerOptions{Yaml: true}),
		Protobuf: protobuf.NewSerializer(s, s),
		CBOR:     cbor.NewSerializer(s, s),
	}
}

func encode(t testing.TB, media string, o runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := serializers()[media].Encode(o, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decodeAsServer decodes as delete.go of k8s.io/apiserver does, which defaults
// the kind.
func decodeAsServer(media string, body []byte) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(body) == 0 {
		return options, nil
	}
	gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	_, _, err := serializers()[media].Decode(body, &gvk, options)
	return options, err
}

func deleteOptions() map[string]*metav1.DeleteOptions {
	typed := metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	return map[string]*metav1.DeleteOptions{
		"empty":        {TypeMeta: typed},
		"of a group":   {TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "apps/v1"}},
		"other dryRun": {TypeMeta: typed, DryRun: []string{"All", "None"}},
		"full": {TypeMeta: typed, GracePeriodSeconds: ptr.To[int64](0), PropagationPolicy: ptr.To(metav1.DeletePropagationForeground),
			Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("u-1")), ResourceVersion: ptr.To("42")}},
		"orphan": {TypeMeta: typed, OrphanDependents: ptr.To(false), DryRun: []string{"All"}},
	}
}

// rewrittenAs is the media type of a body that the guard has rewritten.
func rewrittenAs(media string) string {
	if media == YAML {
		return JSON
	}
	return media
}

func TestDryDeleteOptions(t *testing.T) {
	for _, media := range []string{JSON, YAML, Protobuf, CBOR} {
		for name, options := range deleteOptions() {
			body, sentAs, err := DryDeleteOptions(media, encode(t, media, options), nil)
			if err != nil {
				t.Errorf("%s, %s: %v", media, name, err)
				continue
			}
			got, err := decodeAsServer(sentAs, body)
			if err != nil {
				t.Errorf("%s, %s: the server cannot decode %q: %v", media, name, body, err)
				continue
			}
			want := options.DeepCopy()
			want.DryRun = []string{"All"}
			if sentAs != rewrittenAs(media) || got.APIVersion != options.APIVersion || !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("%s, %s: sent as %s\n got %+v\nwant %+v", media, name, sentAs, got, want)
			}
		}
	}
	query := url.Values{"gracePeriodSeconds": {"3"}, "propagationPolicy": {"Orphan"}, "uid": {"u-1"}, "dryRun": {"None"}}
	body, media, err := DryDeleteOptions(Protobuf, nil, query)
	want := `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":3,"preconditions":{"uid":"u-1"},"propagationPolicy":"Orphan","dryRun":["All"]}`
	if err != nil || media != JSON || string(body) != want {
		t.Errorf("an empty body becomes %s (%s), %v\nwant %s", body, media, err, want)
	}
}

// Fields of a newer API are kept where the encoding allows it.
func TestDryDeleteOptionsKeepsUnknownFields(t *testing.T) {
	body, _, err := DryDeleteOptions(JSON, []byte(`{"kind":"DeleteOptions","apiVersion":"v1","novel":{"n":1e2},"DryRun":[],"dryRun":null}`), nil)
	if want := `{"apiVersion":"v1","dryRun":["All"],"kind":"DeleteOptions","novel":{"n":1e2}}`; err != nil || string(body) != want {
		t.Errorf("got %s, %v, want %s", body, err, want)
	}
	message := append([]byte{}, 0x08, 0x05) // gracePeriodSeconds: 5
	message = append(message, 0xf2, 0x3f, 0x01, 'x')
	envelope, err := closeEnvelope(&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}, Raw: message})
	if err != nil {
		t.Fatal(err)
	}
	body, _, err = DryDeleteOptions(Protobuf, envelope, nil)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openEnvelope(body)
	if err != nil || !bytes.HasPrefix(opened.Raw, message) {
		t.Errorf("got % x, %v, want it to begin with % x", opened.Raw, err, message)
	}
}

func TestUndecodableDeleteOptionsAreRefused(t *testing.T) {
	for _, test := range []struct{ media, body string }{
		{JSON, `{"kind":"Pod","apiVersion":"v1"}`},
		{JSON, `{"dryRun":["All"],"dryRun":[]}`},
		{JSON, `{"preconditions":{"uid":"a"},"preconditions":{"uid":"b"}}`},
		{JSON, `{"dryRun":"All"}`},
		{JSON, `{} {}`},
		{JSON, `[]`},
		{JSON, "k8s\x00"},
		{YAML, "dryRun: [All]\ndryRun: []"},
		{YAML, "kind: Pod"},
		{YAML, "\t"},
		{Protobuf, `{}`},
		{Protobuf, "k8s\x00\xff\xff"},
		{Protobuf, "k8s\x00\x12\x02\x2a\x7f"},
		{CBOR, `{}`},
		{CBOR, "\xd9\xd9\xf7\xa2\x66dryRun\x80\x66dryRun\x80"},
		{"text/plain", `{}`},
		{"?", `{}`},
	} {
		if body, _, err := DryDeleteOptions(test.media, []byte(test.body), nil); err == nil {
			t.Errorf("%s %q became %q", test.media, test.body, body)
		}
	}
}

func TestDryEviction(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "web", Namespace: "shop"}
	typed := metav1.TypeMeta{Kind: "Eviction", APIVersion: "policy/v1"}
	for _, media := range []string{JSON, YAML, Protobuf, CBOR} {
		for _, options := range []*metav1.DeleteOptions{nil, {}, {DryRun: []string{"All", "All"}}, {GracePeriodSeconds: ptr.To[int64](7)}} {
			sent := &policyv1.Eviction{TypeMeta: typed, ObjectMeta: meta, DeleteOptions: options}
			body, sentAs, err := DryEviction(media, encode(t, media, sent))
			if err == nil && sentAs != rewrittenAs(media) {
				t.Errorf("%s is sent as %s", media, sentAs)
			}
			if err != nil {
				t.Errorf("%s, %+v: %v", media, options, err)
				continue
			}
			got := &policyv1.Eviction{}
			if _, _, err := serializers()[sentAs].Decode(body, nil, got); err != nil {
				t.Errorf("%s, %+v: the server cannot decode %q: %v", media, options, body, err)
				continue
			}
			want := sent.DeepCopy()
			if want.DeleteOptions == nil {
				want.DeleteOptions = &metav1.DeleteOptions{}
			}
			want.DeleteOptions.DryRun = []string{"All"}
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("%s\n got %+v\nwant %+v", media, got, want)
			}
		}
	}
	for _, body := range []string{`{"deleteOptions":null}`, `{"DeleteOptions":{"dryRun":[]}}`} {
		if dry, _, err := DryEviction(JSON, []byte(body)); err != nil || string(dry) != `{"deleteOptions":{"dryRun":["All"]}}` {
			t.Errorf("%s became %s, %v", body, dry, err)
		}
	}
	if dry, _, err := DryEviction(JSON, []byte(`{"deleteOptions":[]}`)); err == nil {
		t.Errorf("an eviction without decodable options became %s", dry)
	}
}

// FuzzDeleteBodyRewrite: what leaves is decoded by the server to dryRun=[All]
// and otherwise as the original; what the server would not decode is refused.
func FuzzDeleteBodyRewrite(f *testing.F) {
	media := []string{JSON, Protobuf, CBOR, YAML}
	for i, m := range media {
		for _, options := range deleteOptions() {
			f.Add(i, encode(f, m, options))
		}
	}
	f.Add(0, []byte(`{"dryRun":["All"],"dryRun":[]}`))
	f.Add(0, []byte(`null`))
	f.Add(0, []byte(`{"gracePeriodSeconds":1,"DRYRUN":[],"preconditions":{"uid":"x"}}`))
	f.Add(1, []byte("k8s\x00\x12\x00"))
	f.Add(3, []byte("dryRun: [None]\ngracePeriodSeconds: 0x10\n---\ndryRun: []\n"))
	f.Add(3, []byte("{a: &x [1], b: *x, dryRun: ~}"))
	f.Fuzz(func(t *testing.T, which int, body []byte) {
		m := media[uint(which)%uint(len(media))]
		dry, sentAs, err := DryDeleteOptions(m, body, nil)
		original, serverErr := decodeAsServer(m, body)
		if err != nil {
			return
		}
		got, err := decodeAsServer(sentAs, dry)
		switch {
		case err != nil && serverErr == nil:
			t.Fatalf("%s: %q became %q, which the server cannot decode: %v", m, body, dry, err)
		case err != nil:
			return // neither form means anything to the server
		case !OnlyAll(got.DryRun):
			t.Fatalf("%s: %q became %q, which is no dry run", m, body, dry)
		case serverErr != nil:
			return
		}
		got.DryRun, original.DryRun = nil, nil
		if len(body) == 0 {
			original.TypeMeta = got.TypeMeta
		}
		if !equality.Semantic.DeepEqual(got, original) {
			t.Fatalf("%s: %q became %q\n got %+v\nwant %+v", m, body, dry, got, original)
		}
	})
}
