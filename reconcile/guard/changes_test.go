package guard

import (
	"bytes"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestChangesAreThoseOfTheWholeObjects fills every type that client-go knows with
// random values, changes some fields, and has the diff of what differs be that of
// the whole objects.
func TestChangesAreThoseOfTheWholeObjects(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, random, scheme.Codecs)
	g := &Guard{kinds: wire.Kinds(scheme.Scheme), diff: func(ref state.Ref, old, new map[string]any) []state.FieldChange {
		return redact.Diff(ref, old, new, redact.DiffOptions{Noise: true})
	}}
	refs, changed := g.refs(), 0
	for _, gvk := range refs {
		ref := gvk.ref
		for range 4 {
			old, other := newOf(t, gvk.kind), newOf(t, gvk.kind)
			fill.Fill(old)
			fill.Fill(other)
			answered := old.DeepCopyObject()
			swapSome(random, reflect.ValueOf(answered).Elem(), reflect.ValueOf(other).Elem(), true)
			body := asProtobuf(t, answered, gvk.kind)
			o, err := meta.Accessor(old)
			if err != nil {
				t.Fatal(err)
			}
			o.SetManagedFields(nil)
			old.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})

			before, found := g.contentOf(old, ref)
			after, err := wire.Decode(wire.Protobuf, body)
			if !found || err != nil {
				t.Fatalf("%s: %v, %v", gvk.kind, found, err)
			}
			want := g.diff(ref, before, after)
			if got := g.changes(ref, old, wire.Protobuf, body); !slices.Equal(got, want) {
				t.Errorf("%s: the diff of what differs is\n%v, that of the whole\n%v", gvk.kind, got, want)
			}
			changed += min(len(want), 1)
		}
	}
	if len(refs) < 80 || changed < 2*len(refs) {
		t.Errorf("%d types, %d of 4 objects each changed", len(refs), changed)
	}
}

// What has not changed is not converted.
func TestDifferingLeavesOutWhatIsTheSame(t *testing.T) {
	old := newOf(t, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(2), scheme.Codecs).Fill(old)
	answered := old.DeepCopyObject()
	replicas := reflect.ValueOf(answered).Elem().FieldByName("Status").FieldByName("Replicas")
	replicas.SetInt(replicas.Int() + 1)
	was, _ := differing(old, answered)
	want := reflect.New(reflect.TypeOf(old).Elem())
	want.Elem().FieldByName("Status").FieldByName("Replicas").SetInt(replicas.Int() - 1)
	if !reflect.DeepEqual(was, want.Interface()) {
		t.Errorf("left is %+v", was)
	}
}

const benchDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: u-1, resourceVersion: "7", generation: 2, labels: {app: web}, annotations: {deployment.kubernetes.io/revision: "2"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: web
        image: registry.example/web:1
        ports: [{name: http, containerPort: 8080, protocol: TCP}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 5}
        volumeMounts: [{name: config, mountPath: /etc/web}]
      volumes: [{name: config, configMap: {name: web}}]
status:
  observedGeneration: 2
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 2
  conditions:
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, message: "ReplicaSet has successfully progressed.", lastUpdateTime: 2026-01-02T15:04:05Z, lastTransitionTime: 2026-01-02T15:04:05Z}
  - {type: Available, status: "True", reason: MinimumReplicasAvailable, message: "Deployment has minimum availability.", lastUpdateTime: 2026-01-02T15:04:05Z, lastTransitionTime: 2026-01-02T15:04:05Z}
`

// BenchmarkChanges is the diff of a Deployment whose status has one field changed:
// by type, and of the whole objects.
func BenchmarkChanges(b *testing.B) {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	ref := state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web"}
	decode := func(encoded []byte) runtime.Object {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(encoded, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		return o
	}
	old := decode(asProtobuf(b, decode([]byte(benchDeployment)), kind)) // as informers get it
	answered := old.DeepCopyObject()
	reflect.ValueOf(answered).Elem().FieldByName("Status").FieldByName("Replicas").SetInt(7)
	body := asProtobuf(b, answered, kind)
	g := &Guard{kinds: wire.Kinds(scheme.Scheme), diff: func(ref state.Ref, old, new map[string]any) []state.FieldChange {
		return redact.Diff(ref, old, new, redact.DiffOptions{})
	}}
	run := func(name string, changes func() []state.FieldChange) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := changes(); len(got) != 1 {
					b.Fatal(got)
				}
			}
		})
	}
	run("of what differs", func() []state.FieldChange { return g.changes(ref, old, wire.Protobuf, body) })
	run("of the whole", func() []state.FieldChange {
		before, _ := g.contentOf(old, ref)
		after, err := wire.Decode(wire.Protobuf, body)
		if err != nil {
			b.Fatal(err)
		}
		return g.diff(ref, before, after)
	})
}

type kindAndRef struct {
	kind schema.GroupVersionKind
	ref  state.Ref
}

// refs are the objects of client-go's scheme, in an order of their own.
func (g *Guard) refs() (all []kindAndRef) {
	for gvr, gvk := range g.kinds {
		o, err := scheme.Scheme.New(gvk)
		if err != nil {
			continue
		}
		if _, err := meta.Accessor(o); err != nil {
			continue // options, lists
		}
		all = append(all, kindAndRef{gvk, state.Ref{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Namespace: "shop", Name: "web"}})
	}
	slices.SortFunc(all, func(a, b kindAndRef) int { return bytes.Compare([]byte(a.ref.String()), []byte(b.ref.String())) })
	return all
}

func newOf(t testing.TB, gvk schema.GroupVersionKind) runtime.Object {
	t.Helper()
	o, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// swapSome sets a field in four from another object, inside the structs at the top
// as well.
func swapSome(random *rand.Rand, to, from reflect.Value, inside bool) {
	for i := range to.NumField() {
		field := to.Field(i)
		switch {
		case !field.CanSet() || to.Type().Field(i).Name == "TypeMeta":
		case inside && divisible(field):
			swapSome(random, field, from.Field(i), false)
		case random.Intn(4) == 0:
			field.Set(from.Field(i))
		}
	}
}

func asProtobuf(t testing.TB, o runtime.Object, gvk schema.GroupVersionKind) []byte {
	t.Helper()
	var out bytes.Buffer
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	if err := scheme.Codecs.EncoderForVersion(serializer, gvk.GroupVersion()).Encode(o, &out); err != nil {
		t.Fatalf("%s: %v", gvk, err)
	}
	return out.Bytes()
}
