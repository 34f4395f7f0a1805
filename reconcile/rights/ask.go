package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// inFlight is how many reviews are sent concurrently.
const inFlight = 16

// Missing asks the server, with one SelfSubjectAccessReview each, which permissions the
// user lacks. The result has the order of rights. After an error, no further reviews
// are sent.
func Missing(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewsGetter, rights []Right) ([]Right, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lacks := make([]bool, len(rights))
	failures := make([]error, len(rights))
	var wg sync.WaitGroup
	slots := make(chan struct{}, inFlight)
	for i, r := range rights {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			answer, err := reviews.SelfSubjectAccessReviews().Create(ctx, r.review(), metav1.CreateOptions{})
			switch {
			case err == nil:
				lacks[i] = !answer.Status.Allowed
			case !errors.Is(err, context.Canceled):
				failures[i] = fmt.Errorf("check the permission to %s %s: %w", r.Verb, describe(r.Group, r.Resource), err)
				cancel()
			}
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var missing []Right
	for i, r := range rights {
		if lacks[i] {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

func (r Right) review() *authorizationv1.SelfSubjectAccessReview {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	return &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: r.Group, Resource: resource, Subresource: sub, Name: r.Name, Namespace: r.Namespace,
		},
	}}
}

// Only reduces rules to the given permissions: a rule for each resource, with the verbs
// concerned and what needs them.
func Only(rules []Rule, rights []Right) []Rule {
	var needs []Need
	for _, rule := range rules {
		for _, right := range rule.Rights() {
			if !slices.Contains(rights, right) {
				continue
			}
			for _, n := range rule.Needs {
				if slices.Contains(n.Verbs, right.Verb) {
					needs = append(needs, Need{right, n.By})
				}
			}
		}
	}
	return Merge(needs)
}
