package informers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// FieldOwner is the manager that last wrote a field.
type FieldOwner struct {
	// Path is as in redact.Diff: "spec.containers[name=web].image". An element of a set
	// is "metadata.finalizers[=orphan]".
	Path    string `json:"path"`
	Manager string `json:"manager"`
	// Operation is Apply or Update; Subresource is "status" if applicable.
	Operation   string    `json:"operation"`
	Subresource string    `json:"subresource,omitempty"`
	APIVersion  string    `json:"apiVersion,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

// FieldOwners parses managedFields, ordered by path. A field that several managers
// apply appears several times; unreadable entries appear once with the path "…".
func FieldOwners(managed []metav1.ManagedFieldsEntry) []FieldOwner {
	var all []FieldOwner
	for _, m := range managed {
		owner := FieldOwner{Manager: m.Manager, Operation: string(m.Operation), Subresource: m.Subresource, APIVersion: m.APIVersion}
		if m.Time != nil {
			owner.Time = m.Time.UTC()
		}
		var fields fieldpath.Set
		if m.FieldsV1 == nil || fields.FromJSON(bytes.NewReader(m.FieldsV1.GetRawBytes())) != nil {
			owner.Path = "…"
			all = append(all, owner)
			continue
		}
		fields.Leaves().Iterate(func(p fieldpath.Path) {
			owner.Path = pathText(p)
			all = append(all, owner)
		})
	}
	slices.SortStableFunc(all, func(a, b FieldOwner) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Subresource, b.Subresource))
	})
	return all
}

func pathText(p fieldpath.Path) string {
	var out strings.Builder
	for _, e := range p {
		switch {
		case e.FieldName != nil && isPlain(*e.FieldName, "_-"):
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(*e.FieldName)
		case e.FieldName != nil:
			out.WriteString("[" + quoted(*e.FieldName) + "]")
		case e.Key != nil:
			var parts []string
			for _, k := range *e.Key {
				text := scalar(k.Value)
				if k.Name != "protocol" || text != "TCP" || len(*e.Key) == 1 {
					parts = append(parts, k.Name+"="+text)
				}
			}
			out.WriteString("[" + strings.Join(parts, ",") + "]")
		case e.Value != nil:
			out.WriteString("[=" + scalar(*e.Value) + "]")
		case e.Index != nil:
			out.WriteString("[" + strconv.Itoa(*e.Index) + "]")
		}
	}
	return out.String()
}

func scalar(v value.Value) string {
	if v.IsString() {
		if text := v.AsString(); isPlain(text, "_.:/-") {
			return text
		} else {
			return quoted(text)
		}
	}
	return quoted(v.Unstructured())
}

// isPlain reports whether redact.Diff writes the text into paths without quotes.
func isPlain(text, others string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(others, r)
	})
}

func quoted(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}
