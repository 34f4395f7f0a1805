package plan

import (
	"reflect"
	"testing"
)

// fill gives every exported field of a struct a value, one element per list.
func fill(t *testing.T, into any) { fillValue(t, reflect.ValueOf(into).Elem(), 0) }

func fillValue(t *testing.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(t, v.Field(i), depth+1)
		}
	case reflect.Slice:
		if depth > 6 {
			return // a tree ends somewhere
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(t, v.Index(0), depth+1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(t, v.Elem(), depth+1)
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("a plan has a field of kind %s", v.Kind())
	}
}
