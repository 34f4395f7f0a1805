package proxy_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Who waits for a deletion that a dry run does not make is told, whichever way it waits,
// and nobody else is.
func TestHintOnDeletionsOfADryRun(t *testing.T) {
	for name, test := range map[string]struct {
		wait func(ctx context.Context, c clients)
		want string
	}{
		"does not wait":   {func(context.Context, clients) {}, ""},
		"reads once":      {func(ctx context.Context, c clients) { c.get(ctx, "doomed") }, ""},
		"reads another":   {func(ctx context.Context, c clients) { c.get(ctx, "other"); c.get(ctx, "other") }, ""},
		"lists the type":  {func(ctx context.Context, c clients) { c.list(ctx, ""); c.list(ctx, "") }, ""},
		"polls":           {func(ctx context.Context, c clients) { c.get(ctx, "doomed"); c.get(ctx, "doomed"); c.get(ctx, "doomed") }, "waits for the deletion of configmaps shop/doomed"},
		"lists by name":   {func(ctx context.Context, c clients) { c.list(ctx, "metadata.name=doomed") }, "waits for the deletion of configmaps shop/doomed"},
		"deletes it anew": {func(ctx context.Context, c clients) { c.delete(ctx, "doomed") }, "deletes configmaps shop/doomed again"},
	} {
		t.Run(name, func(t *testing.T) {
			api := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				text := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"doomed","namespace":"shop"}}`
				if strings.HasSuffix(r.URL.Path, "configmaps") {
					text = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"}}`
				}
				_, _ = io.WriteString(w, text)
			})
			j := newJournal()
			deletions := proxy.NewDeletions(j, "use a sandbox")
			p := startWith(t, api, state.ModeDryRunClient, j, deletions)
			c := clients{t, p}
			c.delete(t.Context(), "doomed")
			test.wait(t.Context(), c)
			var notes, hints []string
			for _, n := range of[state.Note](j) {
				if n.Warning {
					hints = append(hints, n.Text)
				} else {
					notes = append(notes, n.Text)
				}
			}
			if len(notes) != 1 || notes[0] != "a dry run deletes nothing: configmaps shop/doomed remains, and a command that waits for its deletion never ends: use a sandbox" {
				t.Errorf("notes %q", notes)
			}
			switch {
			case test.want == "" && len(hints) > 0, test.want != "" && (len(hints) != 1 || !strings.HasPrefix(hints[0], "operator "+test.want) || !strings.HasSuffix(hints[0], ": use a sandbox")):
				t.Errorf("hints %q, want %q", hints, test.want)
			}
		})
	}
}

// clients are the requests of an operator.
type clients struct {
	t *testing.T
	p *proxy.Proxy
}

func (c clients) get(ctx context.Context, name string) {
	if _, err := clientOf(c.t, c.p).CoreV1().ConfigMaps("shop").Get(ctx, name, metav1.GetOptions{}); err != nil {
		c.t.Error(err)
	}
}

func (c clients) list(ctx context.Context, selector string) {
	if _, err := clientOf(c.t, c.p).CoreV1().ConfigMaps("shop").List(ctx, metav1.ListOptions{FieldSelector: selector}); err != nil {
		c.t.Error(err)
	}
}

func (c clients) delete(ctx context.Context, name string) {
	if err := clientOf(c.t, c.p).CoreV1().ConfigMaps("shop").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		c.t.Error(err)
	}
}
