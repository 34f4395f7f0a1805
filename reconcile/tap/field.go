package tap

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// field finds the field that the dotted path names, starting at target, which
// must be a non-nil pointer to a struct. Pointers and interfaces on the way
// are followed; the fields may be unexported. The result is addressable.
func field(target any, path string) (reflect.Value, error) {
	v := reflect.ValueOf(target)
	for _, name := range strings.Split(path, ".") {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			if v.IsNil() {
				return reflect.Value{}, fmt.Errorf("field %s of %T: nil before %q", path, target, name)
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}, fmt.Errorf("field %s of %T: %v before %q has no fields", path, target, v.Type(), name)
		}
		next := v.FieldByName(name)
		if !next.IsValid() {
			return reflect.Value{}, fmt.Errorf("field %s of %T: %v has no field %q", path, target, v.Type(), name)
		}
		v = next
	}
	if !v.CanAddr() {
		return reflect.Value{}, fmt.Errorf("field %s of %T: pass a pointer", path, target)
	}
	return v, nil
}

// at returns the memory of field v as a T. The caller has made sure that T has
// v's layout.
func at[T any](v reflect.Value) *T {
	return (*T)(unsafe.Pointer(v.UnsafeAddr()))
}

// exported returns field v without the mark that keeps reflect from using an
// unexported field.
func exported(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// How field names are compared by sameLayout.
const (
	sameName = true
	anyName  = false
)

// sameLayout reports whether a value of type real may be read, copied,
// compared and hashed as a value of type mirror: equal kinds, sizes and
// offsets, field by field, and with sameName equal field names. Behind a
// pointer mirror may stop early, since nothing is copied there.
func sameLayout(real, mirror reflect.Type, names bool) error {
	return compareLayout(real, mirror, names, false)
}

func compareLayout(real, mirror reflect.Type, names, prefix bool) error {
	if real == mirror {
		return nil
	}
	if real.Kind() != mirror.Kind() {
		return fmt.Errorf("%v is a %v, %v a %v", real, real.Kind(), mirror, mirror.Kind())
	}
	if !prefix && (real.Size() != mirror.Size() || real.Align() != mirror.Align()) {
		return fmt.Errorf("%v has %d bytes, %v %d", real, real.Size(), mirror, mirror.Size())
	}
	switch real.Kind() {
	case reflect.Pointer:
		return compareLayout(real.Elem(), mirror.Elem(), names, true)
	case reflect.Slice:
		return compareLayout(real.Elem(), mirror.Elem(), names, false)
	case reflect.Array:
		if real.Len() != mirror.Len() {
			return fmt.Errorf("%v and %v differ in length", real, mirror)
		}
		return compareLayout(real.Elem(), mirror.Elem(), names, false)
	case reflect.Struct:
		return compareFields(real, mirror, names, prefix)
	case reflect.Interface:
		if real.NumMethod() != mirror.NumMethod() {
			return fmt.Errorf("%v and %v differ in methods", real, mirror)
		}
		return nil
	case reflect.Map, reflect.Chan, reflect.Func:
		return fmt.Errorf("%v is not %v", real, mirror)
	default:
		return nil
	}
}

func compareFields(real, mirror reflect.Type, names, prefix bool) error {
	if n, m := real.NumField(), mirror.NumField(); m > n || m < n && !prefix {
		return fmt.Errorf("%v has %d fields, %v %d", real, n, mirror, m)
	}
	for i := range mirror.NumField() {
		r, m := real.Field(i), mirror.Field(i)
		if names && r.Name != m.Name {
			return fmt.Errorf("field %d is %s in %v, %s in %v", i, r.Name, real, m.Name, mirror)
		}
		if r.Offset != m.Offset {
			return fmt.Errorf("field %s is at %d in %v, at %d in %v", r.Name, r.Offset, real, m.Offset, mirror)
		}
		if err := compareLayout(r.Type, m.Type, names, false); err != nil {
			return fmt.Errorf("field %s of %v: %w", r.Name, real, err)
		}
	}
	return nil
}
