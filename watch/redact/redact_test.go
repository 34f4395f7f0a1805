package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const canary = "k4n4ri-sings-at-dawn"

// forms are the ways in which a secret could show.
func forms() []string {
	b := base64.StdEncoding.EncodeToString([]byte(canary))
	return []string{canary, b, base64.URLEncoding.EncodeToString([]byte(canary)), base64.StdEncoding.EncodeToString([]byte(b)), fmt.Sprintf("%x", canary)}
}

// reporter is a test, or one that shall fail.
type reporter interface {
	Helper()
	Fatalf(string, ...any)
}

func checkNoCanary(t reporter, where string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for _, form := range forms() {
		if strings.Contains(string(text), form) {
			t.Fatalf("%s: %q stands in %s", where, form, text)
		}
	}
}

func object(t reporter, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

var secretRef = state.Ref{Version: "v1", Resource: "secrets", Namespace: "shop", Name: "db"}

func TestRedact(t *testing.T) {
	for name, c := range map[string]struct {
		ref       state.Ref
		obj, want string
	}{
		"a secret": {
			secretRef,
			`{"kind":"Secret","type":"Opaque","immutable":true,"data":{"password":"aaaa","user":"bbbb"},"stringData":{"x":"y"},
			  "metadata":{"name":"db","labels":{"app":"db"},"managedFields":[{"manager":"kubectl"}],
			  "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","kubernetes.io/service-account.name":"default","note":"the password is y"}}}`,
			`{"kind":"Secret","type":"Opaque","immutable":true,"data":{"password":"***","user":"***"},"stringData":{"x":"***"},
			  "metadata":{"name":"db","labels":{"app":"db"},
			  "annotations":{"kubernetes.io/service-account.name":"default","note":"***"}}}`,
		},
		"a secret that does not say so": {secretRef, `{"data":{"a":"b"}}`, `{"data":{"a":"***"}}`},
		"a secret out of shape":         {secretRef, `{"data":"abc","stringData":["x"],"metadata":"m"}`, `{"data":"***","stringData":"***","metadata":"m"}`},
		"another object": {
			state.Ref{Version: "v1", Resource: "configmaps"},
			`{"kind":"ConfigMap","data":{"a":"b"},"metadata":{"managedFields":[],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","a":"b"}}}`,
			`{"kind":"ConfigMap","data":{"a":"b"},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"***","a":"b"}}}`,
		},
		"a list of anything": {
			state.Ref{}, `{"kind":"List","items":[{"kind":"Secret","data":{"a":"b"}},{"kind":"Pod","data":{"a":"b"}}]}`,
			`{"kind":"List","items":[{"kind":"Secret","data":{"a":"***"}},{"kind":"Pod","data":{"a":"b"}}]}`,
		},
		"a list of secrets": {
			state.Ref{}, `{"kind":"SecretList","items":[{"data":{"a":"b"}},"odd"],"metadata":{"resourceVersion":"1"}}`,
			`{"kind":"SecretList","items":[{"data":{"a":"***"}},"***"],"metadata":{"resourceVersion":"1"}}`,
		},
		"a token": {
			state.Ref{Version: "v1", Resource: "serviceaccounts", Name: "default"},
			`{"kind":"TokenRequest","spec":{"audiences":["a"]},"status":{"token":"t","expirationTimestamp":"x"}}`,
			`{"kind":"TokenRequest","spec":{"audiences":["a"]},"status":{"token":"***","expirationTimestamp":"x"}}`,
		},
		"a token review": {state.Ref{Group: "authentication.k8s.io", Resource: "tokenreviews"}, `{"spec":{"token":"t"}}`, `{"spec":{"token":"***"}}`},
		"a token elsewhere": {
			state.Ref{Resource: "pods"}, `{"kind":"Pod","spec":{"token":"t"}}`, `{"kind":"Pod","spec":{"token":"t"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, c.obj)
			got := Redact(c.ref, obj)
			if want := object(t, c.want); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if !reflect.DeepEqual(obj, object(t, c.obj)) {
				t.Errorf("the object was modified: %v", obj)
			}
		})
	}
	if Redact(secretRef, nil) != nil {
		t.Error("nothing became something")
	}
}

// What a program builds, and no decoder, must not slip through by its Go type.
func TestRedactForeignTypes(t *testing.T) {
	obj := map[string]any{
		"items":    []map[string]any{{"kind": "Secret", "data": map[string][]byte{"a": []byte(canary)}}},
		"replicas": int32(3),
		"inner":    map[string]map[string]any{"x": {"kind": "Secret", "stringData": map[string]string{"a": canary}}},
		"odd":      func() {},
	}
	got := Redact(state.Ref{Resource: "lists"}, obj)
	checkNoCanary(t, "redacted", got)
	checkNoCanary(t, "diff", Diff(state.Ref{Resource: "lists"}, obj, nil, DiffOptions{}))
	if got["replicas"] != float64(3) || got["odd"] != Hidden {
		t.Errorf("got %v", got)
	}
}

// genTree makes JSON of any shape with field names that matter.
func genTree(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.SampledFrom([]any{nil, true, "text", "", "\u202e", int64(3), 3.0, 2.5}),
		rapid.Map(rapid.SampledFrom([]string{"a", "b", "c"}), func(s string) any { return s }),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(
		leaf,
		rapid.Map(rapid.MapOfN(genField, genTree(depth-1), 0, 4), func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(genTree(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.SliceOfN(rapid.MapOfN(genField, genTree(depth-1), 0, 3), 0, 4), func(maps []map[string]any) any {
			l := []any{}
			for _, m := range maps {
				l = append(l, m)
			}
			return l
		}),
	)
}

var genField = rapid.SampledFrom([]string{
	"metadata", "spec", "items", "kind", "name", "type", "mountPath", "containerPort", "protocol", "annotations", "labels",
	"resourceVersion", "managedFields", "a.b/c", "kubectl.kubernetes.io/last-applied-configuration", "token", "x",
})

// genSecret is a Secret, well-formed or not, whose values all hold the canary.
func genSecret(t *rapid.T) map[string]any {
	value := func(label string) any {
		return rapid.SampledFrom([]any{forms()[1], canary, "prefix " + canary + " suffix", map[string]any{"nested": canary}, []any{canary}}).Draw(t, label)
	}
	s := map[string]any{"kind": "Secret", "apiVersion": "v1"}
	for _, field := range []string{"data", "stringData"} {
		switch rapid.IntRange(0, 3).Draw(t, field) {
		case 1:
			s[field] = value(field)
		case 2, 3:
			s[field] = map[string]any{"password": value("password"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"): value("other")}
		}
	}
	switch rapid.IntRange(0, 2).Draw(t, "annotations") {
	case 1:
		s["metadata"] = map[string]any{"annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"password":"` + canary + `"}}`,
			"openshift.io/token-secret.value":                  canary,
		}}
	case 2:
		s["metadata"] = map[string]any{"annotations": value("annotations")}
	}
	return s
}

// genWorld puts Secrets at random places of a random object.
func genWorld(t *rapid.T, label string) map[string]any {
	obj, _ := genTree(3).Draw(t, label).(map[string]any)
	if obj == nil {
		obj = map[string]any{}
	}
	for range rapid.IntRange(0, 2).Draw(t, "secrets") {
		secret := any(genSecret(t))
		switch rapid.IntRange(0, 3).Draw(t, "place") {
		case 0:
			obj["template"] = secret
		case 1:
			obj["items"] = []any{secret, "x"}
		case 2:
			obj["list"] = []any{map[string]any{"name": "n", "deep": secret}}
		case 3:
			obj["metadata"] = map[string]any{"annotations": map[string]any{appliedAnnotations[0]: canary}}
		}
	}
	return obj
}

func TestNoSecretComesThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ref := state.Ref{Resource: "things"}
		before, after := genWorld(t, "old"), genWorld(t, "new")
		if rapid.Bool().Draw(t, "secret itself") {
			ref, before, after = secretRef, genSecret(t), genSecret(t)
			delete(after, "kind")
		}
		original, _ := json.Marshal(before)
		checkNoCanary(t, "redacted", Redact(ref, before))
		for _, opts := range []DiffOptions{{}, {Noise: true, MaxValue: 1 << 20, MaxChanges: 1 << 20}} {
			checkNoCanary(t, "diff", Diff(ref, before, after, opts))
			checkNoCanary(t, "creation", Diff(ref, nil, after, opts))
			checkNoCanary(t, "deletion", Diff(ref, before, nil, opts))
		}
		if now, _ := json.Marshal(before); string(now) != string(original) {
			t.Fatalf("the object was modified:\n%s\n%s", original, now)
		}
		if d := Diff(ref, before, before, DiffOptions{}); len(d) != 0 {
			t.Fatalf("an object differs from itself: %v", d)
		}
		if r := Redact(ref, before); !reflect.DeepEqual(Redact(ref, r), r) {
			t.Fatalf("redacting twice is not redacting once")
		}
	})
}

// The property above must be able to fail.
func TestTheCanaryIsSeen(t *testing.T) {
	probe := &recordingT{}
	checkNoCanary(probe, "probe", map[string]any{"data": forms()[1]})
	if !probe.failed {
		t.Error("a secret in base64 was not noticed")
	}
}

type recordingT struct{ failed bool }

func (*recordingT) Helper()                 {}
func (r *recordingT) Fatalf(string, ...any) { r.failed = true }

// An Event's message about a Secret is hidden wherever the Event stands, and only that.
func TestRedactEventsAboutSecrets(t *testing.T) {
	for text, want := range map[string]bool{
		`{"kind":"Event","involvedObject":{"kind":"Secret","apiVersion":"v1"},"message":"MESSAGE","reason":"r"}`:                 true,
		`{"kind":"Event","regarding":{"kind":"Secret"},"note":"MESSAGE"}`:                                                        true,
		`{"kind":"EventList","items":[{"involvedObject":{"kind":"Secret"},"message":"MESSAGE"}]}`:                                true,
		`{"kind":"Event","involvedObject":{"kind":"Secret","apiVersion":"example.com/v1"},"message":"MESSAGE","note":"MESSAGE"}`: false,
		`{"kind":"Event","involvedObject":{"kind":"Pod","apiVersion":"v1"},"message":"MESSAGE"}`:                                 false,
	} {
		o := object(t, text)
		redacted := fmt.Sprint(Redact(state.Ref{Version: "v1", Resource: "events"}, o))
		diff := fmt.Sprint(Diff(state.Ref{Version: "v1", Resource: "events"}, nil, o, DiffOptions{}))
		if hidden := !strings.Contains(redacted, "MESSAGE"); hidden != want {
			t.Errorf("%s became %s", text, redacted)
		}
		if hidden := !strings.Contains(diff, "MESSAGE"); hidden != want {
			t.Errorf("the diff of %s is %s", text, diff)
		}
	}
}
