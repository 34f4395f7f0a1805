package controllers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	controllermanagerapp "k8s.io/controller-manager/app"
)

// UnknownError is a name in --controllers that is no controller's.
type UnknownError struct {
	Name string
	// Near are names and aliases that may have been meant; possibly none.
	Near []string
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("unknown controller %q", e.Name)
	if len(e.Near) > 0 {
		msg += fmt.Sprintf(" (did you mean %s?)", strings.Join(e.Near, " or "))
	}
	return msg
}

// choose applies upstream's rules for --controllers: the first item that names
// a controller decides, "-" before a name switches it off, and "*" selects all
// that are on by default and named nowhere. An empty list selects none. Aliases
// are names.
func choose(descriptors []Descriptor, list []string) (map[string]bool, error) {
	canonical := map[string]string{"*": "*"}
	off := sets.NewString()
	for _, d := range descriptors {
		canonical[d.Name] = d.Name
		for _, a := range d.Aliases {
			canonical[a] = d.Name
		}
		if d.OffByDefault {
			off.Insert(d.Name)
		}
	}
	var items []string
	for _, item := range list {
		bare, minus := strings.CutPrefix(item, "-")
		name, ok := canonical[bare]
		if !ok || minus && bare == "*" {
			return nil, &UnknownError{Name: bare, Near: near(bare, canonical)}
		}
		if minus {
			name = "-" + name
		}
		items = append(items, name)
	}
	selected := map[string]bool{}
	for _, d := range descriptors {
		if controllermanagerapp.IsControllerEnabled(d.Name, off, items) {
			selected[d.Name] = true
		}
	}
	return selected, nil
}

// near returns up to three names that contain s or are a few keystrokes away,
// the nearest first.
func near(s string, names map[string]string) []string {
	if s == "" {
		return nil
	}
	type match struct {
		name     string
		distance int
	}
	limit := max(1, len(s)/4)
	var found []match
	for name := range names {
		if name == "*" {
			continue
		}
		if strings.Contains(name, s) {
			found = append(found, match{name, 0})
		} else if d := distance(s, name); d <= limit {
			found = append(found, match{name, d})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		if len(a.name) != len(b.name) {
			return len(a.name) - len(b.name)
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, m := range found[:min(len(found), 3)] {
		out = append(out, m.name)
	}
	return out
}

// distance is the number of single-byte edits between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Resolve is the name of the controller that a name or an alias means; its error
// is an *UnknownError.
func Resolve(name string) (string, error) {
	canonical := map[string]string{}
	for _, d := range Descriptors() {
		canonical[d.Name] = d.Name
		for _, a := range d.Aliases {
			canonical[a] = d.Name
		}
	}
	if full, ok := canonical[name]; ok {
		return full, nil
	}
	return "", &UnknownError{Name: name, Near: near(name, canonical)}
}
