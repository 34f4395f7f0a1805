package tui

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// filter is what the user typed after "/":
//
//	web        text, in any case; or a regular expression where it has its signs
//	!web       what does not match
//	-l app=web labels, where the rows have them
//	-f wbsrv   fuzzy: these letters in this order
//
// The zero filter matches all.
type filter struct {
	text  string
	match func(fields []string) bool
	// labels is set for -l and read by pages whose rows have labels.
	labels string
}

// maxFilter bounds the text of a filter, in bytes.
const maxFilter = 512

// parseFilter reads a filter; hasLabels says whether -l means anything here.
func parseFilter(text string, hasLabels bool) (filter, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxFilter {
		return filter{}, fmt.Errorf("the filter is longer than %d bytes", maxFilter)
	}
	f := filter{text: text}
	switch {
	case text == "":
		return f, nil
	case text == "-l" || strings.HasPrefix(text, "-l "):
		if !hasLabels {
			return filter{}, fmt.Errorf("-l filters by labels, and these rows have none")
		}
		f.labels = strings.TrimSpace(strings.TrimPrefix(text, "-l"))
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
	if regexp.QuoteMeta(pattern) != pattern && strings.Trim(pattern, "./-") != "" && isPattern(pattern) {
		expr, err := regexp.Compile("(?i)" + pattern)
		if err != nil {
			return filter{}, fmt.Errorf("%q is no regular expression: %w", pattern, err)
		}
		hit = expr.MatchString
	}
	f.match = func(fields []string) bool { return anyField(fields, hit) != not }
	return f, nil
}

// isPattern: a dot alone is part of a name such as deployments.apps.
func isPattern(s string) bool { return strings.ContainsAny(s, `\^$*+?()[]{}|`) }

func anyField(fields []string, hit func(string) bool) bool {
	for _, s := range fields {
		if hit(s) {
			return true
		}
	}
	return false
}

// matchesAll reports whether the filter hides nothing.
func (f filter) matchesAll() bool { return f.match == nil }

// matches reports whether a row with these fields is shown.
func (f filter) matches(fields ...string) bool { return f.match == nil || f.match(fields) }
