package lead

import (
	"context"
	"fmt"
	"strings"

	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// LackingError says what the user may not do on a context that is needed there.
type LackingError struct {
	Context string
	// Rules are what is missing, as rules of a role for Mode.
	Rules []rights.Rule
	Mode  rights.Mode
	// Scheduler: it is kube-scheduler that needs it.
	Scheduler bool
}

func (e *LackingError) Error() string {
	who := "these controllers do"
	if e.Scheduler {
		who = "kube-scheduler does"
	}
	return fmt.Sprintf("you may not do on context %q what %s: %s", e.Context, who, describeLacks(e.Rules))
}

// Lacking is a LackingError if the user may not do on a context what is needed there.
func Lacking(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewsGetter, name, namespace string, needs []rights.Need, mode rights.Mode, scheduler bool) error {
	rules := rights.Merge(rights.Confine(needs, namespace))
	var all []rights.Right
	for _, rule := range rules {
		all = append(all, rule.Rights()...)
	}
	missing, err := rights.Missing(ctx, reviews, all)
	if err != nil {
		return explain.Error(err, fmt.Sprintf("ask the API server of context %q what you may", name))
	}
	if len(missing) == 0 {
		return nil
	}
	return &LackingError{Context: name, Rules: rights.Only(rules, missing), Mode: mode, Scheduler: scheduler}
}

// describeLacks names the first rules of what the user may not do.
func describeLacks(rules []rights.Rule) string {
	var lacks []string
	for _, rule := range rules {
		by := strings.ReplaceAll(rule.NeededBy(), "; ", ", ")
		lacks = append(lacks, fmt.Sprintf("%s %s (for %s)", strings.Join(rule.Verbs, ", "), rule.What(), by))
	}
	return state.Few(lacks, "; ")
}
