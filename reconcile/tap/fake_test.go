package tap

import (
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

func errForbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", errNotAllowed{})
}

type errNotAllowed struct{}

func (errNotAllowed) Error() string { return "not allowed" }

func forbidden(on *atomic.Bool) clienttesting.ReactionFunc {
	return func(clienttesting.Action) (bool, runtime.Object, error) { return on.Load(), nil, errForbidden() }
}

func forbiddenWatch(on *atomic.Bool) clienttesting.WatchReactionFunc {
	return func(clienttesting.Action) (bool, watch.Interface, error) { return on.Load(), nil, errForbidden() }
}
