package twin

import (
	"fmt"
	"slices"
	"strings"
)

// Optional is a kind of write that depends on how fast one controller sees what
// another has done, with the reason. An empty field is any.
type Optional struct {
	Account, Verb, Resource string
	Reason                  string
}

func (o Optional) covers(w Write) bool {
	is := func(pattern, value string) bool { return pattern == "" || pattern == value }
	return is(o.Account, w.Account) && is(o.Verb, w.Verb) && is(o.Resource, w.Resource)
}

// Alternative is a kind of deletion that any of several accounts may be the first
// to do.
type Alternative struct {
	Resource string
	Accounts []string
}

// Rules say which differences between two sets are none.
type Rules struct {
	Optional     []Optional
	Alternatives []Alternative
}

// reduced leaves the optional writes out and joins the alternatives.
func (r Rules) reduced(s Set) Set {
	out := Set{}
	for w, n := range s {
		if slices.ContainsFunc(r.Optional, func(o Optional) bool { return o.covers(w) }) {
			continue
		}
		for _, a := range r.Alternatives {
			if w.Verb == "delete" && w.Resource == a.Resource && slices.Contains(a.Accounts, w.Account) {
				w.Account = strings.Join(a.Accounts, " or ")
			}
		}
		out[w] += n
	}
	return out
}

// Diff lists the writes that one side has and the other has not, sorted; nothing
// where the sets are equal by the rules. x and y name the sides.
func (r Rules) Diff(x string, a Set, y string, b Set) []string {
	a, b = r.reduced(a), r.reduced(b)
	var out []string
	only := func(side string, mine, other Set) {
		for w, n := range mine {
			if m := other[w]; m < n {
				what := w.String()
				if n > 1 {
					what += fmt.Sprintf(" #%d", m+1)
					if n > m+1 {
						what += fmt.Sprintf(" to #%d", n)
					}
				}
				out = append(out, "only "+side+": "+what)
			}
		}
	}
	only(x, a, b)
	only(y, b, a)
	slices.Sort(out)
	return out
}

// Unequal lists the kinds of writes, without their objects, that differ between two
// sets: what a table of Optional is made from.
func Unequal(a, b Set) []Write {
	var out []Write
	for _, pair := range [][2]Set{{a, b}, {b, a}} {
		for w, n := range pair[0] {
			if pair[1][w] < n {
				w.Object = ""
				out = append(out, w)
			}
		}
	}
	slices.SortFunc(out, func(a, b Write) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}
