package controlplane

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// Two of kube-apiserver's post-start hooks begin by waiting a second, because
// etcd might not be there yet, and one of them then creates 150 objects one by
// one: pkg/registry/rbac/rest/storage_rbac.go and
// pkg/registry/scheduling/rest/storage_scheduling.go @v1.37.1. That is half of
// the time until /readyz is ok. The hooks here, under the same names in /readyz,
// create the same objects from the same lists without the wait. etcd is known to
// be empty: what upstream does about objects of older releases has no place.

const (
	bootstrapWriters = 8
	bootstrapTimeout = 30 * time.Second // upstream's
	bootstrapRetry   = 20 * time.Millisecond
)

// replacedHooks returns the hooks that stand in for upstream's, by name.
func replacedHooks() map[string]genericapiserver.PostStartHookFunc {
	return map[string]genericapiserver.PostStartHookFunc{
		rbacrest.PostStartHookName:       bootstrapRBAC,
		schedulingrest.PostStartHookName: bootstrapPriorityClasses,
	}
}

// withoutHooks runs build while hooks of these names are not registered.
// disabled is the set that all servers of the chain share.
//
//lint:ignore SA1019 the type is that of upstream's DisabledPostStartHooks
func withoutHooks(disabled sets.String, names []string, build func() error) error {
	disabled.Insert(names...)
	defer disabled.Delete(names...)
	return build()
}

func bootstrapRBAC(hook genericapiserver.PostStartHookContext) error {
	client, err := rbacclient.NewForConfig(hook.LoopbackClientConfig)
	if err != nil {
		return fmt.Errorf("create default roles: %w", err)
	}
	return createAll(hook, func(ctx context.Context, create createFunc) {
		for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
			create("clusterrole "+role.Name, func() error {
				_, err := client.ClusterRoles().Create(ctx, &role, metav1.CreateOptions{})
				return err
			})
		}
		for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
			create("clusterrolebinding "+binding.Name, func() error {
				_, err := client.ClusterRoleBindings().Create(ctx, &binding, metav1.CreateOptions{})
				return err
			})
		}
		for namespace, roles := range bootstrappolicy.NamespaceRoles() {
			for _, role := range roles {
				create("role "+namespace+"/"+role.Name, func() error {
					_, err := client.Roles(namespace).Create(ctx, &role, metav1.CreateOptions{})
					return err
				})
			}
		}
		for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
			for _, binding := range bindings {
				create("rolebinding "+namespace+"/"+binding.Name, func() error {
					_, err := client.RoleBindings(namespace).Create(ctx, &binding, metav1.CreateOptions{})
					return err
				})
			}
		}
	})
}

func bootstrapPriorityClasses(hook genericapiserver.PostStartHookContext) error {
	client, err := schedulingclient.NewForConfig(hook.LoopbackClientConfig)
	if err != nil {
		return fmt.Errorf("create default priority classes: %w", err)
	}
	return createAll(hook, func(ctx context.Context, create createFunc) {
		for _, class := range schedulingv1.SystemPriorityClasses() {
			create("priorityclass "+class.Name, func() error {
				_, err := client.PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
				return err
			})
		}
	})
}

// createFunc runs try until it succeeds or the object exists. Early on, its
// namespace may be missing or the server may not take writes.
type createFunc func(what string, try func() error)

// createAll runs what each names in parallel and returns the first error.
func createAll(ctx context.Context, each func(context.Context, createFunc)) error {
	ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bootstrapWriters)
	each(ctx, func(what string, try func() error) {
		group.Go(func() error {
			var last error
			err := wait.PollUntilContextCancel(ctx, bootstrapRetry, true, func(context.Context) (bool, error) {
				last = try()
				return last == nil || apierrors.IsAlreadyExists(last), nil
			})
			if err != nil {
				return fmt.Errorf("create default %s: %w (last answer: %v)", what, err, last)
			}
			return nil
		})
	})
	return group.Wait()
}
