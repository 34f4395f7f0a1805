package words

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A term is a word of the field, and the words that must not replace it.
type term struct {
	say string
	// not are regular expressions, case-insensitive. A space in them matches any white
	// space, a line break included.
	not []string
	// except, if set, is a regular expression for longer phrases in which the words are right.
	except string
}

// terms is the vocabulary of everything that users read.
var terms = []term{
	{say: "controller", not: []string{`\bloops?\b`}, except: `control loop\b`},
	{say: "TUI, terminal UI; visible, displayed", not: []string{`\bthe screen\b`, `\bon (a|the) screen\b`, `\bscreen's\b`}},
	{say: "command, subcommand", not: []string{`\bverbs? that (ask|read)s?\b`, `\b(asking|one-shot) verbs?\b`, `\bwithout a verb\b`}},
	{say: "dequeue, process, done, requeue; add", not: []string{`\bgiven back\b`, `\bwanted again\b`, `\b(stands?|stood) ready\b`, `\badditions?\b`}, except: `in addition\b`},
	{say: "release (a lease), restore (a terminal), hand back (work)", not: []string{`\b(gives?|gave|giving) (it |them |the [a-z]+ )?back\b`, `\bthe (lease|terminal) back\b`}},
	{say: "again, relist, restart", not: []string{`\banew\b`, `\bturn(s|ed)? (it |the \w+ )?round\b`}},
	{say: "resourceVersion regressed, stale cache", not: []string{`\bversions? (went|goes|go) back\b`, `\bhow fresh\b`}},
	{say: "leader election, candidate", not: []string{`\b(stands?|stood|standing) for (election|the lease)\b`, `\b(stands?|stood|standing) by\b`}},
	{say: "Leader election does not provide fencing", not: []string{`\b(no|not a) fence\b`}},
	{say: "pending approval, approve, reject", not: []string{`\b(a|the|your|each) yes\b`, `\bopen questions?\b`, `\bquestions? (is|are|was|were) (open|pending)\b`, `\bwhile a question\b`, `\bwaits? for you\b`, `\basked about\b`, `\blet out\b`, `\bunasked\b`}},
	{say: "circuit breaker", not: []string{`\bbrakes?\b`}},
	{say: "settled, idle, all queues empty", not: []string{`\b(come|comes|came|coming) to rest\b`, `\bnothing moves\b`, `\bstill moving\b`, `\bat rest\b`}},
	{say: "minimal Role, missing permissions", not: []string{`\bleast role\b`, `\byou lack\b`}},
	{say: "dropped, evicted, truncated", not: []string{`\bno room for\b`, `\bleft the memory\b`, `\bno longer in memory\b`}},
	{say: "X is not a valid Y", not: []string{`\b(is|are|was|were) no [a-z]+`}, except: `\b(there|that|here) (is|are|was|were) no |(is|are|was|were) no (longer|more)\b`},
	{say: "fix, correct", not: []string{`\bmend(s|ed|ing)?\b`}},
	{say: "anyway (or the reason)", not: []string{`\ball the same\b`}, except: `\b(is|are) all the same\b`},
	{say: "owner, dependent; delete", not: []string{`\btakes? (it|them|\w+s) along\b`, `\bwhat it takes\b`}, except: `whatever it takes`},
	{say: "sanitised, redacted, verified", not: []string{`\binert\b`, `\bbears? witness\b`, `\bas witness(es)?\b`}},
	{say: "import rules, is not aware of", not: []string{`\bwho may know whom\b`, `\bknows? (of|no)\b`}, except: `(you|nobody) knows? of`},
	{say: "report, name, show", not: []string{`\btells? of\b`}},
	{say: "10, 100, 1000 …", not: []string{`\btenth power\b`}},
	{say: "does not confine the process", not: []string{`\bjail\b`}},
	{say: "IN FLIGHT", not: []string{`\bFLY\b`}},
	{say: "allows reading (a gerund or an object)", not: []string{`\b(allow|permit)(s|ed|ing)? to\b`, `\blets to\b`}},
	{say: "Same as h., No more errors., Refresh.", not: []string{`\bas (h|l)\.`, `\bno further error\b`, `\bask again now\b`}, except: `\bsame as (h|l)\.`},
	{say: "an imperative: Show, List, Preview, Diagnose", not: []string{`\Asay (what|who|where|which|how)\b`}},
	{say: "don't print headers", not: []string{`\btitles of the columns\b`}},
	{say: "refresh every", not: []string{`\blooks? again every\b`}},
	{say: "rate-limited by the API server (429)", not: []string{`\basks for fewer requests\b`}},
	{say: "not a Kubernetes API server: it returned HTML", not: []string{`\bsends a web page\b`}},
	{say: "unknown X, cannot resolve host X", not: []string{`\bis not known here\b`}},
	{say: "shutdown timed out; exiting", not: []string{`\bnot everything has ended\b`}},
	{say: "not reconciled by any controller", not: []string{`\b(is|are|were) left alone\b`, `\bby nobody\b`, `\bby everybody\b`}},
	{say: "No blocking cause found", not: []string{`\bstands? in (its|the) way\b`}},
	{say: "No matching rows; esc clears the filter.", not: []string{`\bleft of the filter\b`}},
	{say: "Not in the journal, or already evicted.", not: []string{`\bhas nothing of it\b`}},
	{say: "no error reported", not: []string{`\bdid not say how\b`}},
	{say: "Leave leader election?", not: []string{`\bfor election no longer\b`}},
	{say: "dry-run results are discarded", not: []string{`\bdid dry is not done\b`}},
	{say: "Cause", not: []string{`\bwhat is behind it\b`}},
	{say: "Colour is never the only indicator", not: []string{`\btold by a colour\b`}},
	{say: "not available in this session", not: []string{`\bhas no such part\b`}},
}

// A rule is one expression of a term, compiled.
type rule struct {
	say         string
	not, except *regexp.Regexp
}

var rules = sync.OnceValue(func() (out []rule) {
	compile := func(expression string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)` + strings.ReplaceAll(expression, " ", `\s+`))
	}
	for _, t := range terms {
		for _, not := range t.not {
			r := rule{say: t.say, not: compile(not)}
			if t.except != "" {
				r.except = compile(t.except)
			}
			out = append(out, r)
		}
	}
	return out
})

// A finding is a phrase that a text should not have, and what to say in its place.
type finding struct {
	file, phrase, say string
	line              int
}

// inspect finds the phrases of the table in a text that begins at a line of a file.
func inspect(file string, line int, text string) (found []finding) {
	for _, r := range rules() {
		var right [][]int
		if r.except != nil {
			right = r.except.FindAllStringIndex(text, -1)
		}
		for _, at := range r.not.FindAllStringIndex(text, -1) {
			if slices.ContainsFunc(right, func(in []int) bool { return at[0] < in[1] && in[0] < at[1] }) {
				continue
			}
			phrase := strings.ToLower(strings.Join(strings.Fields(text[at[0]:at[1]]), " "))
			found = append(found, finding{file, phrase, r.say, line + strings.Count(text[:at[0]], "\n")})
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.line - b.line })
	return found
}
