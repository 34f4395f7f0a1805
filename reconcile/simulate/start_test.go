package simulate_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The simulation may be started as soon as the server listens, while it refuses
// requests yet.
func TestStartWhileTheServerStarts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it starts a sandbox")
	}
	type started struct {
		cluster *simulate.Cluster
		err     error
	}
	result := make(chan started, 1)
	ctx, cancel := context.WithCancel(quiet(t))
	var notes []string
	sb, err := sandbox.Start(t.Context(), sandbox.Options{OnListening: func(sb *sandbox.Sandbox) {
		endpoint := sb.Endpoint()
		go func() {
			cluster, err := simulate.Start(ctx, simulate.Options{
				Config: &rest.Config{
					Host: endpoint.URL, BearerToken: endpoint.Token,
					TLSClientConfig: rest.TLSClientConfig{CAData: endpoint.CA},
				},
				Nodes: simulate.DefaultNodes, Scheduler: true, Storage: true, Pods: nodes.PodsReady,
				Recorder: state.RecorderFunc(func(e state.Event) { notes = append(notes, e.(state.Note).Text) }),
			})
			result <- started{cluster, err}
		}()
	}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	defer sb.Close(context.Background())
	r := <-result
	if r.err != nil {
		cancel()
		t.Fatal(r.err)
	}
	eventually(t, "rest", func() string { return strings.Join(r.cluster.Busy(), "; ") })
	if got, want := strings.Join(notes, "; "), `3 simulated nodes, kube-scheduler, StorageClass "standard" up`; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
	cancel()
	r.cluster.Wait()
}

func TestStartRefusesNonsense(t *testing.T) {
	for name, options := range map[string]simulate.Options{
		"no configuration":      {},
		"a negative count":      {Config: &rest.Config{}, Nodes: -1},
		"an unknown behaviour":  {Config: &rest.Config{}, Pods: "asleep"},
		"no scheduler's client": {Config: &rest.Config{Host: "://"}, Scheduler: true},
	} {
		if _, err := simulate.Start(t.Context(), options); err == nil {
			t.Errorf("Start with %s succeeded", name)
		}
	}
}
