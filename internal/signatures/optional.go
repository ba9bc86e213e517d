// Package signatures finds methods that were meant to implement an optional interface and do not: with another
// signature, or with a pointer receiver on what is used as a value. Go says nothing of them.
package signatures

import (
	"fmt"
	"reflect"
	"strings"
)

// Misfit is an error about a method of v with the name of a method of an interface that v does not implement; nil where
// there is none. What the method belongs to in another of the interfaces, which v implements, is no misfit, nor is a
// method of an embedded type, which may serve blocks of another type.
func Misfit(v any, interfaces ...reflect.Type) error {
	t := reflect.TypeOf(v)
	if t == nil {
		return nil
	}
	used := map[string]bool{}
	for _, i := range interfaces {
		for m := range i.NumMethod() {
			if t.Implements(i) {
				used[i.Method(m).Name] = true
			}
		}
	}
	for _, i := range interfaces {
		for m := range i.NumMethod() {
			if want := i.Method(m); !used[want.Name] {
				if err := compare(t, i, want); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Names are those of the interfaces that v implements.
func Names(v any, interfaces ...reflect.Type) (names []string) {
	for _, i := range interfaces {
		if v != nil && reflect.TypeOf(v).Implements(i) {
			name, _, _ := strings.Cut(i.Name(), "[")
			names = append(names, name)
		}
	}
	return names
}

// compare is an error where t, or a pointer to it, has the method and still does not implement the interface.
func compare(t, i reflect.Type, want reflect.Method) error {
	own, byValue := t.MethodByName(want.Name)
	if !byValue && t.Kind() != reflect.Pointer {
		var byPointer bool
		if own, byPointer = reflect.PointerTo(t).MethodByName(want.Name); !byPointer {
			return nil
		}
	} else if !byValue {
		return nil
	}
	if promoted(t, own) {
		return nil
	}
	if signature := without(own.Type); signature != want.Type {
		return fmt.Errorf("%s of %v is %v, and %v has %v: correct or rename it", want.Name, t, signature, i,
			want.Type)
	}
	if !byValue {
		return fmt.Errorf("%s of %v has a pointer receiver, so that %v is not %v: take a value for receiver, or pass a "+
			"pointer", want.Name, t, t, i)
	}
	return nil
}

// promoted reports whether a struct, or what t points to, has the method by an embedded field.
func promoted(t reflect.Type, own reflect.Method) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if m, has := f.Type.MethodByName(own.Name); f.Anonymous && has && without(m.Type) == without(own.Type) {
			return true
		}
	}
	return false
}

// without is the type of a method without its receiver.
func without(method reflect.Type) reflect.Type {
	var in, out []reflect.Type
	for i := 1; i < method.NumIn(); i++ {
		in = append(in, method.In(i))
	}
	for i := range method.NumOut() {
		out = append(out, method.Out(i))
	}
	return reflect.FuncOf(in, out, method.IsVariadic())
}
