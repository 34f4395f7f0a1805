package controllers

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestChoose(t *testing.T) {
	rows := []Descriptor{
		{Name: "a-controller", Aliases: []string{"a"}},
		{Name: "b-controller", Aliases: []string{"b"}},
		{Name: "c-controller", OffByDefault: true},
	}
	tests := []struct {
		list []string
		want []string
	}{
		{nil, nil},
		{[]string{"*"}, []string{"a-controller", "b-controller"}},
		{[]string{"*", "c-controller"}, []string{"a-controller", "b-controller", "c-controller"}},
		{[]string{"*", "-a-controller"}, []string{"b-controller"}},
		{[]string{"*", "-a"}, []string{"b-controller"}},
		{[]string{"-a", "*"}, []string{"b-controller"}},
		{[]string{"b"}, []string{"b-controller"}},
		{[]string{"-b"}, nil},
		// The first item decides.
		{[]string{"b", "-b"}, []string{"b-controller"}},
		{[]string{"-b", "b"}, nil},
	}
	for _, tt := range tests {
		selected, err := choose(rows, tt.list)
		if err != nil {
			t.Errorf("%q: %v", tt.list, err)
			continue
		}
		var got []string
		for name := range selected {
			got = append(got, name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q selects:\n%s", tt.list, diff)
		}
	}
}

func TestUnknownController(t *testing.T) {
	tests := []struct {
		list []string
		want string
	}{
		{[]string{"deploymnet"}, `unknown controller "deploymnet" (did you mean deployment?)`},
		{[]string{"*", "-deploy"}, `unknown controller "deploy" (did you mean deployment or deployment-controller?)`},
		{[]string{"-*"}, `unknown controller "*"`},
		{[]string{""}, `unknown controller ""`},
		{[]string{"kubelet"}, `unknown controller "kubelet"`},
	}
	for _, tt := range tests {
		_, err := choose(Descriptors(), tt.list)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || err.Error() != tt.want {
			t.Errorf("%q: %v\nwant %s", tt.list, err, tt.want)
		}
	}
}
