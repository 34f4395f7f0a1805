package guard

import (
	"encoding/json"
	"reflect"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// changes is the diff from an informer's object to the one in a server's answer,
// nil where one of them cannot be read. A loop's update changes a field or two of a
// status: where both are of one Go type, no more than those are made unstructured,
// which is most of what a diff costs.
func (g *Guard) changes(ref state.Ref, old runtime.Object, media string, body []byte) []state.FieldChange {
	if media == wire.Protobuf {
		answered, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil
		}
		if reflect.TypeOf(answered) == reflect.TypeOf(old) {
			return g.changesOfType(ref, old, answered)
		}
	}
	before, found := g.contentOf(old, ref)
	if !found {
		return nil
	}
	after, err := wire.Decode(media, body)
	if err != nil {
		return nil
	}
	return g.diff(ref, before, after)
}

// changesFrom is the diff from an object that was read to the one in a server's
// answer, nil where that cannot be read. Of an answer that is metadata alone, only
// metadata is compared.
func (g *Guard) changesFrom(ref state.Ref, before wire.Object, media string, body []byte) []state.FieldChange {
	after, err := wire.Decode(media, body)
	if err != nil {
		return nil
	}
	if after["kind"] == "PartialObjectMetadata" {
		metadata := func(o wire.Object) wire.Object {
			if o == nil {
				return nil
			}
			return wire.Object{"metadata": o["metadata"]}
		}
		before, after = metadata(before), metadata(after)
	}
	return g.diff(ref, before, after)
}

// changesOfType is changes between two objects of one Go type. It takes the
// managedFields, which informers drop and Diff leaves out, off the answer.
func (g *Guard) changesOfType(ref state.Ref, old, answered runtime.Object) []state.FieldChange {
	if m, err := meta.Accessor(answered); err == nil {
		m.SetManagedFields(nil)
	}
	was, is := old, answered
	if !isEvent(ref) { // what may be shown of one depends on what it is about
		was, is = differing(old, answered)
	}
	before, found := g.contentOf(was, ref)
	after, still := g.contentOf(is, ref)
	if !found || !still {
		return nil
	}
	return g.diff(ref, before, after)
}

// differing gives copies of two objects of one Go type without the fields that are
// the same in both: those at the top, and those in a struct at the top. The copies
// share what is in the others with the objects. What they leave out on both sides
// is missing in their JSON on both, or the same zero on both.
func differing(a, b runtime.Object) (runtime.Object, runtime.Object) {
	from, to := reflect.ValueOf(a), reflect.ValueOf(b)
	if from.Kind() != reflect.Pointer || from.Elem().Kind() != reflect.Struct {
		return a, b
	}
	onlyA, onlyB := reflect.New(from.Type().Elem()), reflect.New(from.Type().Elem())
	copyDiffering(from.Elem(), to.Elem(), onlyA.Elem(), onlyB.Elem(), true)
	return onlyA.Interface().(runtime.Object), onlyB.Interface().(runtime.Object)
}

// copyDiffering copies the fields that differ between two structs to two others of
// the type, of the structs inside only what differs if that is asked for. All four
// have to be addressable.
func copyDiffering(a, b, toA, toB reflect.Value, inside bool) {
	for i := range a.NumField() {
		x, y := a.Field(i), b.Field(i)
		switch {
		case !toA.Field(i).CanSet() || reflect.DeepEqual(x.Addr().Interface(), y.Addr().Interface()):
		case inside && divisible(x):
			copyDiffering(x, y, toA.Field(i), toB.Field(i), false)
		default:
			toA.Field(i).Set(x)
			toB.Field(i).Set(y)
		}
	}
}

// divisible reports whether the fields of a value are those of its JSON, and say
// the same one by one: no Time, which is written by itself, and nothing that has a
// kind, by which Secrets are known.
func divisible(v reflect.Value) bool {
	if v.Kind() != reflect.Struct {
		return false
	}
	_, own := v.Addr().Interface().(json.Marshaler)
	return !own && !v.FieldByName("Kind").IsValid()
}
