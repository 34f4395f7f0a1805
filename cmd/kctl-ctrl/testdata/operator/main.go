// Command operator is what TestOperators runs behind exec: a controller written
// with controller-runtime as its users write theirs. It elects a leader, keeps
// ConfigMaps in an informer, and for each that is labelled creates, applies,
// updates, patches and deletes others. It ends with 0 when all of that was
// answered without an error.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const namespace = "default"

type reconciler struct {
	client.Client
	done context.CancelFunc
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var parent corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &parent); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if parent.Labels["operator"] != "parent" {
		return ctrl.Result{}, nil
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: parent.Name + "-child"}, Data: map[string]string{"from": parent.Name}}
	if err := ctrl.SetControllerReference(&parent, child, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Create(ctx, child); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("create: %w", err)
	}
	applied := coreapply.ConfigMap(parent.Name+"-applied", namespace).WithData(map[string]string{"k": "v"})
	if err := r.Apply(ctx, applied, client.FieldOwner("operator"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, fmt.Errorf("apply: %w", err)
	}
	patched := parent.DeepCopy()
	patched.Annotations = map[string]string{"operator": "was here"}
	if err := r.Patch(ctx, patched, client.MergeFrom(&parent)); err != nil {
		return ctrl.Result{}, fmt.Errorf("patch: %w", err)
	}
	var other corev1.ConfigMap
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "updated"}, &other); err != nil {
		return ctrl.Result{}, err
	}
	other.Data = map[string]string{"k": "changed"}
	if err := r.Update(ctx, &other); err != nil {
		return ctrl.Result{}, fmt.Errorf("update: %w", err)
	}
	doomed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "doomed"}}
	if err := r.Delete(ctx, doomed); err != nil {
		return ctrl.Result{}, fmt.Errorf("delete: %w", err)
	}
	r.done()
	return ctrl.Result{}, nil
}

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, done := context.WithCancel(ctrl.SetupSignalHandler())
	defer done()
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	short := 2 * time.Second
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "operator",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		RetryPeriod:                   &short,
	})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(&reconciler{manager.GetClient(), done}); err != nil {
		return err
	}
	return manager.Start(ctx)
}
