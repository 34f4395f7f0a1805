package lead

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Work is what runs while this process leads.
type Work interface {
	// Guarded makes the guard around the transport of what works.
	Guarded(guard.Options) (connect.Wrap, error)
	// StartWith starts it by a config. None of it may run.
	StartWith(context.Context, *rest.Config, *kubectrlmgrconfig.KubeControllerManagerConfiguration) error
	// StopWork ends it, with no write left at a gate, and waits for its end.
	StopWork(context.Context) error
}

// Candidacy is what stands for election, and where.
type Candidacy struct {
	Context string
	Target  connect.Target
	// Component has the lease, and the controllers that are to write.
	Component *kubectrlmgrconfig.KubeControllerManagerConfiguration
	Namespace string
	// Scheduler: it is kube-scheduler that writes.
	Scheduler, Impersonate bool
	// NoWait ends the wait where another holds the lease.
	NoWait bool
	// Allowed, if set, is asked again when the lease is held.
	Allowed  func() error
	Work     Work
	Recorder state.Recorder
	Progress func(string)
}

// Confirm compares what the user has typed with the context that is written to.
func Confirm(context, typed string) (guard.Confirmation, error) { return guard.Confirm(context, typed) }

// replaces is the component whose place this process takes.
func (c *Candidacy) replaces() election.Component {
	if c.Scheduler {
		return election.Scheduler()
	}
	return election.ControllerManager()
}

// Stand sets up what takes part in the election: the way of what works to the cluster,
// which leads through the election's gate. Nothing is written yet.
func (c *Candidacy) Stand(ctx context.Context, confirmed guard.Confirmation) (*Tenure, error) {
	clock, err := election.SystemClock()
	if err != nil {
		return nil, err
	}
	c.Progress("asking " + c.Context + " whether this may be done")
	said, err := c.Preflight(ctx)
	if err != nil {
		return nil, err
	}
	e, err := c.election(confirmed, clock)
	if err != nil {
		return nil, err
	}
	grant, err := e.Grant(c.Target.Server(), confirmed)
	if err != nil {
		return nil, err
	}
	wrap, err := c.Work.Guarded(guard.Options{Mode: state.ModeActive, Grant: grant, Server: c.Target.Server(), BasePath: c.Target.Path()})
	if err != nil {
		return nil, err
	}
	limits := connect.Limits{QPS: c.Component.Generic.ClientConnection.QPS, Burst: int(c.Component.Generic.ClientConnection.Burst)}
	config, err := c.Target.Config(wrap, limits)
	if err != nil {
		return nil, err
	}
	if err := ActAsOne(c.Impersonate, config); err != nil {
		return nil, err
	}
	return &Tenure{Candidacy: *c, Version: said.Version, election: e, config: config}, nil
}

// ActAsOne refuses to act as the controllers' accounts and as another user at once.
func ActAsOne(impersonate bool, config *rest.Config) error {
	if other := config.Impersonate.UserName; impersonate && other != "" {
		return fmt.Errorf("--impersonate-controllers while you act as %q: a request acts as one user: leave out --as, or whatever in the kubeconfig says it", other)
	}
	return nil
}

// election sets up the election. Its requests have a connection budget and a
// guard of their own, which lets nothing out but the lease.
func (c *Candidacy) election(confirmed guard.Confirmation, clock election.Clock) (*election.Election, error) {
	lease, target := c.Component.Generic.LeaderElection, c.Target
	grant, err := guard.GrantLease(target.Server(), confirmed, lease.ResourceNamespace, lease.ResourceName)
	if err != nil {
		return nil, err
	}
	g, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: grant, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return nil, err
	}
	config, err := target.Config(g.Wrap, connect.Limits{QPS: -1})
	if err != nil {
		return nil, err
	}
	config.UserAgent += "/leader-election"
	config.Wrap(connect.Unretried)
	// As upstream has it (client-go's resourcelock.NewFromKubeconfig).
	config.Timeout = max(time.Second, lease.RenewDeadline.Duration/2)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the election: %w", err)
	}
	return election.New(election.Options{
		Of: c.replaces(), Namespace: lease.ResourceNamespace, Name: lease.ResourceName,
		LeaseDuration: lease.LeaseDuration.Duration, RenewDeadline: lease.RenewDeadline.Duration, RetryPeriod: lease.RetryPeriod.Duration,
		Client: client.CoordinationV1(), Clock: clock, Recorder: c.Recorder, NoWait: c.NoWait,
	})
}
