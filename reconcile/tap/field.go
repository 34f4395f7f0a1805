package tap

import (
	"fmt"
	"reflect"
	"strings"
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
