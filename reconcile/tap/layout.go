package tap

import (
	"fmt"
	"reflect"
)

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
		return sameMethods(real, mirror, nil, nil)
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

// sameMethods reports whether two interface types have the same method set: as many
// methods, of the same names and types, where those of real may have key in the place
// of mirrorKey. Then the method tables of both are alike, and a value of the one may
// be read as a value of the other. A method more, or one of another name, would put
// every method behind it into the wrong slot.
func sameMethods(real, mirror, key, mirrorKey reflect.Type) error {
	if real == mirror {
		return nil
	}
	if n, m := real.NumMethod(), mirror.NumMethod(); n != m {
		return fmt.Errorf("%v has %d methods, %v %d", real, n, mirror, m)
	}
	for i := range real.NumMethod() {
		r, m := real.Method(i), mirror.Method(i)
		if r.Name != m.Name || r.PkgPath != m.PkgPath {
			return fmt.Errorf("method %d is %s in %v, %s in %v", i, r.Name, real, m.Name, mirror)
		}
		if !sameSignature(r.Type, m.Type, key, mirrorKey) {
			return fmt.Errorf("method %s is %v in %v, %v in %v", r.Name, r.Type, real, m.Type, mirror)
		}
	}
	return nil
}

func sameSignature(real, mirror, key, mirrorKey reflect.Type) bool {
	if real.NumIn() != mirror.NumIn() || real.NumOut() != mirror.NumOut() || real.IsVariadic() != mirror.IsVariadic() {
		return false
	}
	same := func(r, m reflect.Type) bool { return r == m || r == key && m == mirrorKey }
	for i := range real.NumIn() {
		if !same(real.In(i), mirror.In(i)) {
			return false
		}
	}
	for i := range real.NumOut() {
		if !same(real.Out(i), mirror.Out(i)) {
			return false
		}
	}
	return true
}
