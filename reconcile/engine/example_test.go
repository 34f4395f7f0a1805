package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web:1}]}
`

// What controllers do to manifests, asked by a program of one's own. Its main function, or
// TestMain, first calls controlplane.RunChild: the sandbox executes the binary again as
// its control plane.
func ExampleStart() {
	if err := onSandbox(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func onSandbox(ctx context.Context, out *os.File) (err error) {
	options, err := controllers.NewOptions()
	if err != nil {
		return err
	}
	options.SelectByDefault("deployment-controller", "replicaset-controller")
	e, err := engine.Start(ctx, engine.Spec{
		Sandbox:     &engine.Sandbox{Nodes: 1},
		Controllers: options,
		Horizon:     time.Second,
	})
	if err != nil {
		return err
	}
	defer e.Stop(context.WithoutCancel(ctx))

	objects, err := plan.Load(plan.Sources{Files: []string{"-"}, Stdin: strings.NewReader(web)})
	if err != nil {
		return err
	}
	if err := e.Apply(ctx, objects, "default"); err != nil {
		return err
	}
	if _, err := e.WaitSettled(ctx, time.Minute); err != nil {
		return err
	}
	created := 0
	for write := range e.Journal().Flush().Writes.All() {
		if write.Controller == "replicaset-controller" && write.Verb == "create" && write.Object.Resource == "pods" {
			created++
		}
	}
	fmt.Fprintf(out, "the ReplicaSet controller created %d pods\n", created)
	return nil
}

// TestStart is ExampleStart with its output checked, where a sandbox may be started.
func TestStart(t *testing.T) {
	testbed.WithControllers(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := onSandbox(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	var said [200]byte
	n, _ := r.Read(said[:])
	if got := string(said[:n]); got != "the ReplicaSet controller created 2 pods\n" {
		t.Errorf("it says %q", got)
	}
}

// A second engine would share klog, error handlers and feature gates with the first.
func TestOneEngineAtATime(t *testing.T) {
	testbed.WithControllers(t)
	first, err := engine.New(engine.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.New(engine.Spec{}); !errors.Is(err, engine.ErrRunning) {
		t.Errorf("a second engine: %v", err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := engine.New(engine.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil {
		t.Error("an engine starts without a sandbox or a cluster")
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
