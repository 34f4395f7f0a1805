package guard

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxReason bounds the words of an Event in the record, in bytes: the API server
// takes reasons of at most 128.
const maxReason = 128

// textOf is what an Event says, in the words of either of its groups; nil where it
// says nothing. What is said of a Secret is withheld: it may quote one.
func textOf(o wire.Object) *state.EventText {
	text := func(field string) string { s, _ := o[field].(string); return s }
	t := state.EventText{
		Type: cut(text("type"), maxReason), Reason: cut(text("reason"), maxReason), Message: cut(text("message"), maxMessage), Count: counted(o),
	}
	if t.Message == "" {
		t.Message = cut(text("note"), maxMessage)
	}
	if redact.TellsOfSecret(o) && t.Message != "" {
		t.Message = "(withheld: it may quote the Secret)"
	}
	if t == (state.EventText{}) {
		return nil
	}
	return &t
}

// counted is how often an Event has been seen, of the three fields for that.
func counted(o wire.Object) int {
	series, _ := o["series"].(wire.Object)
	most := 0
	for _, n := range []any{o["count"], o["deprecatedCount"], series["count"]} {
		switch n := n.(type) {
		case int64:
			most = max(most, int(n))
		case float64:
			most = max(most, int(n))
		}
	}
	return most
}

// cut bounds text for the record.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
