package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// access tells which types the user may read. A loop whose informer is
// forbidden would wait for its cache for ever.
type access struct {
	denied map[schema.GroupVersionResource]string
	err    error
}

// readVerbs are what an informer does.
var readVerbs = [...]string{"list", "watch"}

// checkAccess asks the server, by SelfSubjectAccessReview, whether the types
// can be listed and watched; in namespace, or everywhere if that is empty.
func checkAccess(ctx context.Context, client kubernetes.Interface, namespace string, types []schema.GroupVersionResource) access {
	const inFlight = 16
	a := access{denied: map[schema.GroupVersionResource]string{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, inFlight)
	for _, t := range types {
		for _, verb := range readVerbs {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Verb: verb, Group: t.Group, Version: t.Version, Resource: t.Resource, Namespace: namespace,
					},
				}}
				answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					a.err = fmt.Errorf("ask for the right to %s %s: %w", verb, typeName(t), err)
				case !answer.Status.Allowed:
					a.denied[t] = verb
				}
			})
		}
	}
	wg.Wait()
	return a
}

// MayNot begins the reason of a controller that is off because the user lacks a
// right.
const MayNot = "you may not"

// missing returns why one of the types must not be read, or "".
func (a access) missing(types []schema.GroupVersionResource) string {
	for _, t := range types {
		if verb, denied := a.denied[t]; denied {
			return fmt.Sprintf("%s %s %s", MayNot, verb, typeName(t))
		}
	}
	return ""
}

// impersonable switches off the controllers whose accounts the user may not impersonate.
// Without an answer all are off: as the user, a loop would do what its account
// may not.
func (m *Manager) impersonable(ctx context.Context, descriptors []*Descriptor) []*Descriptor {
	var asked []rights.Right
	for _, d := range descriptors {
		if d.Account != "" {
			asked = append(asked, rights.Impersonation(d.Account))
		}
	}
	var missing []rights.Right
	client, err := m.world.Load().clients.Client("access-review")
	if err == nil {
		missing, err = rights.Missing(ctx, client.AuthorizationV1(), asked)
	}
	return slices.DeleteFunc(descriptors, func(d *Descriptor) bool {
		switch {
		case d.Account == "":
			return false
		case err != nil:
			m.set(d, state.ControllerOff, err.Error())
		case slices.Contains(missing, rights.Impersonation(d.Account)):
			m.set(d, state.ControllerOff, fmt.Sprintf("%s impersonate serviceaccounts %s in namespace %s", MayNot, d.Account, rights.AccountNamespace))
		default:
			return false
		}
		return true
	})
}
