package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// asOperator in the environment makes the test binary an operator written with
// plain client-go: it does what testdata/operator does, and needs no module but
// those of the program. With the value "watch" it waits, after that, for a
// ConfigMap "late", which only a watch can bring.
const asOperator = "KCTL_CTRL_TEST_AS_OPERATOR"

func operator(ctx context.Context) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	if err := operate(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		return 1
	}
	return 0
}

func operate(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.UserAgent = "plain-operator/v1"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	maps := factory.Core().V1().ConfigMaps()
	late := make(chan struct{})
	_, err = maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		if o.(*corev1.ConfigMap).Name == "late" {
			close(late)
		}
	}})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), maps.Informer().HasSynced) {
		return context.Cause(ctx)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "operator"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "plain"},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				err := act(ctx, client, maps.Lister().ConfigMaps("default").Get)
				if err == nil && os.Getenv(asOperator) == "watch" {
					fmt.Println("waiting for late")
					select {
					case <-late:
						fmt.Println("late is here")
					case <-ctx.Done():
						err = context.Cause(ctx)
					}
				}
				cancel(err)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err := context.Cause(ctx); err != context.Canceled {
		return err
	}
	return nil
}

// act tries every verb once, each on what it has read before.
func act(ctx context.Context, client kubernetes.Interface, get func(string) (*corev1.ConfigMap, error)) error {
	api := client.CoreV1().ConfigMaps("default")
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "parent-child"}}
	if made, err := api.Create(ctx, child, metav1.CreateOptions{}); err != nil || made.UID == "" {
		return fmt.Errorf("create: %w (%v)", err, made)
	}
	apply := coreapply.ConfigMap("parent-applied", "default").WithData(map[string]string{"k": "v"})
	if applied, err := api.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "operator", Force: true}); err != nil || applied.Data["k"] != "v" {
		return fmt.Errorf("apply: %w (%v)", err, applied)
	}
	if _, err := api.Patch(ctx, "parent", types.MergePatchType, []byte(`{"metadata":{"annotations":{"operator":"was here"}}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	updated, err := get("updated")
	if err != nil {
		return err
	}
	updated = updated.DeepCopy()
	updated.Data = map[string]string{"k": "changed"}
	if _, err := api.Update(ctx, updated, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if err := api.Delete(ctx, "doomed", metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}
