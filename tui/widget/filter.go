package widget

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Filter is what the user typed after "/":
//
//	web        text, in any case; or a regular expression where it has its signs
//	!web       what does not match
//	-l app=web labels, where the rows have them
//	-f wbsrv   fuzzy: these letters in this order
//
// The zero filter matches all.
type Filter struct {
	Text  string
	match func(fields []string) bool
	// Labels is set for -l and read by pages whose rows have labels.
	Labels string
}

// maxFilter bounds the text of a filter, in bytes.
const maxFilter = 512

// ParseFilter reads a filter; hasLabels says whether -l means anything here.
func ParseFilter(text string, hasLabels bool) (Filter, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxFilter {
		return Filter{}, fmt.Errorf("the filter is longer than %d bytes", maxFilter)
	}
	f := Filter{Text: text}
	switch {
	case text == "":
		return f, nil
	case text == "-l" || strings.HasPrefix(text, "-l "):
		if !hasLabels {
			return Filter{}, fmt.Errorf("-l filters by labels, and these rows have none")
		}
		f.Labels = strings.TrimSpace(strings.TrimPrefix(text, "-l"))
		return f, nil
	case text == "-f" || strings.HasPrefix(text, "-f "):
		letters := strings.TrimSpace(strings.TrimPrefix(text, "-f"))
		f.match = func(fields []string) bool {
			return anyField(fields, func(s string) bool { return state.Fuzzy(letters, s) })
		}
		return f, nil
	}
	pattern, not := strings.CutPrefix(text, "!")
	plain := strings.ToLower(pattern)
	hit := func(s string) bool { return strings.Contains(strings.ToLower(s), plain) }
	if regexp.QuoteMeta(pattern) != pattern && strings.Trim(pattern, "./-") != "" && IsPattern(pattern) {
		expr, err := regexp.Compile("(?i)" + pattern)
		if err != nil {
			return Filter{}, fmt.Errorf("invalid filter %q: %w", pattern, err)
		}
		hit = expr.MatchString
	}
	f.match = func(fields []string) bool { return anyField(fields, hit) != not }
	return f, nil
}

// IsPattern: a dot alone is part of a name such as deployments.apps.
func IsPattern(s string) bool { return strings.ContainsAny(s, `\^$*+?()[]{}|`) }

func anyField(fields []string, hit func(string) bool) bool {
	for _, s := range fields {
		if hit(s) {
			return true
		}
	}
	return false
}

// MatchesRow reports whether a row is shown: by what its cells show, apart from those
// that change with the time alone, or by other fields of it.
func (f Filter) MatchesRow(columns []Column, cells []Cell, fields ...string) bool {
	if f.match == nil {
		return true
	}
	for i, c := range cells {
		if i >= len(columns) || !columns[i].Aging {
			fields = append(fields, strings.TrimSpace(c.Text()))
		}
	}
	return f.match(fields)
}

// MatchesAll reports whether the filter hides nothing.
func (f Filter) MatchesAll() bool { return f.match == nil }

// Matches reports whether a row with these fields is shown.
func (f Filter) Matches(fields ...string) bool { return f.match == nil || f.match(fields) }
