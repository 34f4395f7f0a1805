package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/watch/leases"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var updateShop = flag.Bool("update-shop", false, "record watch/recording/testdata/shop.jsonl anew")

// shopLoops are few, so that the recording stays small.
const shopLoops = "deployment,replicaset,statefulset,daemonset,job,resourcequota,persistentvolume-binder"

// tooBig asks for more than the shop's quota has room for: its ReplicaSet
// fails and retries. The lease is of an operator that went away.
const tooBig = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: import, namespace: shop, labels: {app: import}}
spec:
  replicas: 2
  selector: {matchLabels: {app: import}}
  template:
    metadata: {labels: {app: import}}
    spec:
      containers:
      - name: import
        image: registry.example/shop/import:0.3.0
        resources: {requests: {cpu: "4", memory: 16Mi}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: shop-operator, namespace: shop}
spec:
  holderIdentity: shop-operator-5d8f9c7b6-x2x9l_6f0c1f9e-6d0f-4c57-9f39-0d3f0c8a2b11
  leaseDurationSeconds: 15
  leaseTransitions: 2
  acquireTime: "2026-01-02T15:04:05.000000Z"
  renewTime: "2026-01-02T15:09:05.000000Z"
`

// TestShopRecording keeps the recording that the tests of replay and of the
// screen read: the shop applied, the next version of the shop applied on it, and
// a Deployment that its quota has no room for. With -update-shop it is made anew:
//
//	go test ./cmd/kctl-ctrl -run TestShopRecording -update-shop
//
// Times, UIDs and generated names in it are what they were on that day.
func TestShopRecording(t *testing.T) {
	file := filepath.Join(repository(t), "watch", "recording", "testdata", "shop.jsonl")
	if *updateShop {
		recordShop(t, file)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	decoder, err := state.NewDecoder(in)
	if err != nil {
		t.Fatal(err)
	}
	var failed, retries, diffs, leases, revisions, unreadable int
	for {
		entry, err := decoder.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := entry.Event.(type) {
		case state.KeyFinished:
			if e.Failed {
				failed++
			}
		case state.KeyAdded:
			if e.Retries > 1 {
				retries++
			}
		case state.WriteFinished:
			if len(e.Diff) > 0 && e.Verb != "create" {
				diffs++
			}
			if e.Object.Resource == "controllerrevisions" && e.Verb == "create" {
				revisions++
			}
		case state.LeaseChanged:
			leases++
		case state.Unknown:
			unreadable++
		}
	}
	if failed < 3 || retries < 3 || diffs < 10 || leases < 3 || revisions < 3 || unreadable > 0 {
		t.Errorf("the recording has %d failed syncs, %d second retries, %d writes with a diff, %d leases, %d revisions and %d unreadable lines: too poor to test with",
			failed, retries, diffs, leases, revisions, unreadable)
	}
	if info, err := in.Stat(); err != nil || info.Size() > 800<<10 {
		t.Errorf("the recording has %d bytes (%v)", info.Size(), err)
	}
}

func recordShop(t *testing.T, file string) {
	t.Helper()
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse([]string{"--controllers=" + shopLoops}); err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, engine.Spec{
		Controllers: options, Horizon: 600 * time.Millisecond, Version: about.Version().Version, Kubernetes: about.Version().Kubernetes,
		Sandbox: &engine.Sandbox{Nodes: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	writer, err := recording.Start(s.Journal(), file, recording.WriterOptions{Version: about.Version().Version, Replace: true})
	if err != nil {
		t.Fatal(err)
	}

	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	apply := func(sources plan.Sources) {
		t.Helper()
		objects, err := plan.Load(sources)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), objects, ""); err != nil {
			t.Fatal(err)
		}
	}
	settled := func() {
		t.Helper()
		if _, err := s.WaitSettled(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		recordLeases(t, s)
	}
	apply(plan.Sources{Files: []string{filepath.Join(repository(t), "examples", "shop")}})
	settled()
	apply(plan.Sources{Files: []string{filepath.Join(repository(t), "examples", "shop-next")}})
	settled()
	apply(plan.Sources{Files: []string{"-"}, Stdin: strings.NewReader(tooBig)})
	settled()
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
}

// recordLeases puts what is known of the leases into the journal.
func recordLeases(t *testing.T, s *engine.Engine) {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := leases.NewReader(client).List(t.Context(), leases.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		s.Journal().Record(state.LeaseChanged{Lease: l.Ref(), Holder: l.Identity, RenewTime: l.RenewTime, Duration: l.Duration, Transitions: l.Transitions})
	}
}
