package redact

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// DiffOptions control a Diff. The zero value is suitable for a journal.
type DiffOptions struct {
	// Noise keeps metadata.resourceVersion and metadata.generation, which the server
	// changes.
	Noise bool
	// MaxValue is the maximum length of a value, in bytes; 256 if zero.
	MaxValue int
	// MaxChanges is the maximum number of changes; 200 if zero.
	MaxChanges int
}

// Diff lists the fields in which two objects differ, by path. Either may be nil for an
// object that does not exist.
//
// A change is that of a leaf: a scalar, a list of scalars, or a map or list that is
// empty on one side. Elements of a list of maps are matched by their keys in the API
// (name, containerPort and protocol, mountPath, type…), or by index if they have none;
// a different order of matched elements is one change of "path[order]". A null field
// counts as absent.
//
// Values are compact JSON, truncated to MaxValue with "…(+N bytes)", at the start, too,
// if they differ only later: values that differ never look equal. Changes beyond
// MaxChanges are counted in a last one with path "…(+N changes)". Values that Redact
// hides are compared by their true value and shown as "*** (before)" and "*** (after)".
// The objects are not modified.
func Diff(ref state.Ref, old, new map[string]any, opts DiffOptions) []state.FieldChange {
	if opts.MaxValue <= 0 {
		opts.MaxValue = 256
	}
	if opts.MaxChanges <= 0 {
		opts.MaxChanges = 200
	}
	d := differ{opts: opts}
	d.maps("", d.prepare(ref, old), d.prepare(ref, new))
	if more := len(d.changes) - opts.MaxChanges; more > 0 {
		d.changes = append(d.changes[:opts.MaxChanges], state.MoreChanges(more))
	}
	return d.changes
}

// masked is a value that may be compared but not shown.
type masked string

type differ struct {
	opts    DiffOptions
	changes []state.FieldChange
}

func (d *differ) prepare(ref state.Ref, obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	r := redactor{hide: func(v any) any { return masked(compact(v)) }}
	out := r.object(obj, kindOf(ref, obj))
	dropNulls(out)
	if meta, ok := out["metadata"].(map[string]any); ok && !d.opts.Noise {
		delete(meta, "resourceVersion")
		delete(meta, "generation")
	}
	return out
}

// dropNulls removes null fields from maps at any depth.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for field, item := range v {
			if item == nil {
				delete(v, field)
			} else {
				dropNulls(item)
			}
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

func (d *differ) maps(path string, old, new map[string]any) {
	fields := slices.Collect(maps.Keys(old))
	for field := range new {
		if _, both := old[field]; !both {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	for _, field := range fields {
		d.values(join(path, field), old[field], new[field])
	}
}

// values compares the values at a path; nil means absent.
func (d *differ) values(path string, old, new any) {
	oldMap, oldIsMap := old.(map[string]any)
	newMap, newIsMap := new.(map[string]any)
	if (oldIsMap || old == nil) && (newIsMap || new == nil) && len(oldMap)+len(newMap) > 0 {
		if oldIsMap && newIsMap || len(oldMap) > 0 && new == nil || len(newMap) > 0 && old == nil {
			d.maps(path, oldMap, newMap)
			return
		}
	}
	oldList, oldIsList := old.([]any)
	newList, newIsList := new.([]any)
	if oldIsMap && newIsMap || oldIsList && newIsList && len(oldList)+len(newList) == 0 {
		return // both are empty
	}
	if (oldIsList || old == nil) && (newIsList || new == nil) && len(oldList)+len(newList) > 0 {
		if allMaps(oldList) && allMaps(newList) && (len(oldList) > 0 && len(newList) > 0 || old == nil || new == nil) {
			d.lists(path, oldList, newList)
			return
		}
	}
	d.leaf(path, old, new)
}

func (d *differ) leaf(path string, old, new any) {
	if isScalar(old) && old == new {
		return
	}
	before, after := compact(old), compact(new)
	oldHidden, newHidden := hasMasked(old), hasMasked(new)
	if before == after && oldHidden == newHidden {
		return
	}
	change := state.FieldChange{Path: state.Clip(path, 1024)}
	from := 0
	if old != nil && new != nil {
		from = d.from(before, after)
	}
	if old != nil {
		change.Old = d.show(before, from, oldHidden, "before")
	}
	if new != nil {
		change.New = d.show(after, from, newHidden, "after")
	}
	d.changes = append(d.changes, change)
}

func (d *differ) show(value string, from int, hidden bool, when string) string {
	if hidden {
		return strconv.Quote(Hidden + " (" + when + ")")
	}
	if from == 0 {
		return state.Clip(value, d.opts.MaxValue)
	}
	return fmt.Sprintf("…(+%d bytes)%s", from, state.Clip(value[from:], d.opts.MaxValue))
}

// from is where the display of two values starts: at their beginning, unless they would
// look equal.
func (d *differ) from(before, after string) int {
	if state.Clip(before, d.opts.MaxValue) != state.Clip(after, d.opts.MaxValue) {
		return 0
	}
	at, limit := 0, min(len(before), len(after))
	for at < limit && before[at] == after[at] {
		at++
	}
	from := at - max(1, d.opts.MaxValue/4)
	for from > 0 && !utf8.RuneStart(before[from]) {
		from--
	}
	return max(0, from)
}

// hasMasked finds hidden values at any depth: a leaf may be a complete list.
func hasMasked(v any) bool {
	switch v := v.(type) {
	case masked:
		return true
	case []any:
		return slices.ContainsFunc(v, hasMasked)
	case map[string]any:
		for _, item := range v {
			if hasMasked(item) {
				return true
			}
		}
	}
	return false
}

// identities are the fields that identify list elements in the API, the most specific
// first: a volumeMount has a name, but that is its volume's.
var identities = [][]string{
	{"containerPort", "protocol"},
	{"mountPath"},
	{"devicePath"},
	{"port", "protocol"},
	{"uid"},
	{"name"},
	{"ip"},
	{"type"},
	{"topologyKey", "whenUnsatisfiable"},
	{"key", "effect"},
	{"kind", "namespace", "name"},
	{"key"},
	{"id"},
	{"path"},
}

func (d *differ) lists(path string, old, new []any) {
	name := naming(old, new)
	oldNames, newNames := names(name, old), names(name, new)
	at := map[string]int{}
	for i, n := range newNames {
		at[n] = i
	}
	shared := []string{}
	for i, n := range oldNames {
		j, both := at[n]
		if !both {
			d.values(path+n, old[i], nil)
			continue
		}
		shared = append(shared, n)
		d.values(path+n, old[i], new[j])
	}
	known := map[string]bool{}
	for _, n := range oldNames {
		known[n] = true
	}
	sharedNew := []string{}
	for j, n := range newNames {
		if known[n] {
			sharedNew = append(sharedNew, n)
			continue
		}
		d.values(path+n, nil, new[j])
	}
	if !slices.Equal(shared, sharedNew) {
		d.leaf(path+"[order]", strings.Join(shared, ""), strings.Join(sharedNew, ""))
	}
}

// naming finds the fields that identify the elements of both lists, or nil.
func naming(lists ...[]any) []string {
	for _, fields := range identities {
		if !slices.ContainsFunc(lists, func(list []any) bool { return !tellsApart(fields, list) }) {
			return fields
		}
	}
	return nil
}

func tellsApart(fields []string, list []any) bool {
	seen := map[string]bool{}
	for _, item := range list {
		m := item.(map[string]any)
		if !isScalar(m[fields[0]]) {
			return false
		}
		n := element(fields, m)
		if seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64, json.Number:
		return true
	}
	return false
}

func names(fields []string, list []any) []string {
	out := make([]string, len(list))
	for i, item := range list {
		if fields == nil {
			out[i] = "[" + strconv.Itoa(i) + "]"
		} else {
			out[i] = element(fields, item.(map[string]any))
		}
	}
	return out
}

// element is "[containerPort=53,protocol=UDP]". Protocol TCP is omitted: it is the
// API's default.
func element(fields []string, m map[string]any) string {
	var parts []string
	for _, field := range fields {
		if v := m[field]; isScalar(v) && (field != "protocol" || v != "TCP") {
			text, isString := v.(string)
			if !isString {
				text = compact(v)
			}
			parts = append(parts, field+"="+quoteOdd(text, "_.:/-"))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// join adds a field to a path: as .field, or as ["a/b"] if it contains anything but
// letters, digits, - and _.
func join(path, field string) string {
	if quoted := quoteOdd(field, "_-"); quoted != field {
		return path + "[" + quoted + "]"
	}
	if path == "" {
		return field
	}
	return path + "." + field
}

// quoteOdd returns text unchanged if it consists of letters, digits and the given
// characters, and as JSON otherwise.
func quoteOdd(text, others string) string {
	odd := strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(others, r)
	})
	if odd || text == "" {
		return compact(text)
	}
	return text
}

func allMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool {
		_, ok := v.(map[string]any)
		return !ok
	})
}

// compact is a value as JSON, with whole numbers in one form.
func compact(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		if !needsQuoting(v) {
			return `"` + v + `"`
		}
	}
	text, err := state.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprintf("%T", v))
	}
	return string(text)
}

// needsQuoting reports whether a string contains anything that JSON may escape.
func needsQuoting(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return true
		}
	}
	return false
}
