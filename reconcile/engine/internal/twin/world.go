package twin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Object is an object at the end, normalised.
type Object struct {
	// ID is its kind and name, the name with generated parts as "*": objects that
	// are alike share one.
	ID string
	// Namespace and Name are the true ones.
	Namespace, Name string
	// Content is what is compared.
	Content any
}

// World is what is there in the end, by scenario and ID: the contents as JSON,
// sorted.
type World map[string]map[string][]string

// NewWorld sorts objects by scenario. Those of none are left out.
func NewWorld(objects []Object, scenario func(namespace, name string) string) (World, error) {
	w := World{}
	for _, o := range objects {
		of := scenario(o.Namespace, o.Name)
		if of == "" {
			continue
		}
		text, err := canonical(o.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.ID, err)
		}
		if w[of] == nil {
			w[of] = map[string][]string{}
		}
		id := Scrub(o.ID)
		w[of][id] = append(w[of][id], text)
	}
	for _, ids := range w {
		for _, contents := range ids {
			slices.Sort(contents)
		}
	}
	return w, nil
}

func canonical(content any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil { // maps are sorted
		return "", err
	}
	return Scrub(strings.TrimSpace(out.String())), nil
}

// Diff lists what differs in a scenario, sorted; nothing where the ends are equal.
func (w World) Diff(x string, other World, y, scenario string) []string {
	a, b := w[scenario], other[scenario]
	ids := map[string]bool{}
	for id := range a {
		ids[id] = true
	}
	for id := range b {
		ids[id] = true
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		switch {
		case slices.Equal(a[id], b[id]):
		case len(a[id]) != len(b[id]):
			out = append(out, fmt.Sprintf("%s: %d %s, %d %s", id, len(a[id]), x, len(b[id]), y))
		default:
			for i := range a[id] {
				if at := differsAt(a[id][i], b[id][i]); at >= 0 {
					out = append(out, fmt.Sprintf("%s: %s %s; %s %s", id, x, around(a[id][i], at), y, around(b[id][i], at)))
				}
			}
		}
	}
	return out
}

// differsAt is the first byte that differs, or -1.
func differsAt(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
}

// around cuts a text around a byte.
func around(text string, at int) string {
	const before, after = 60, 100
	return "…" + text[max(0, at-before):min(len(text), at+after)] + "…"
}
