package queues

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// metricsFlags say which process is asked for its metrics.
type metricsFlags struct {
	url      string
	from     string
	ca       string
	insecure bool
}

func (m *metricsFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&m.url, "metrics-url", "", "read the metrics at this URL; no credentials are sent there")
	flags.StringVar(&m.from, "metrics-from", "", "read the metrics of pod/NAME[:PORT], kube-controller-manager or kube-scheduler, through the API server")
	flags.StringVar(&m.ca, "metrics-ca", "", "file with the certificate authority of the metrics endpoint")
	flags.BoolVar(&m.insecure, "insecure-metrics", false, "trust any certificate of a metrics URL, and send the kubeconfig's token to a process that cannot prove who it is")
}

func (m *metricsFlags) given() bool { return m.url != "" || m.from != "" }

func (m *metricsFlags) check() error {
	switch {
	case m.url != "" && m.from != "":
		return errors.New("--metrics-url and --metrics-from exclude each other")
	case !m.given() && (m.ca != "" || m.insecure):
		return errors.New("--metrics-ca and --insecure-metrics go with --metrics-url or --metrics-from")
	}
	return nil
}

// scrapeURL reads the metrics at a URL.
func (o *Options) scrapeURL(ctx context.Context) ([]state.QueueStats, state.Process, error) {
	client, err := o.source.client(o.source.url, nil, nil)
	if err != nil {
		return nil, state.Process{}, err
	}
	defer client.Close()
	queues, err := o.scrapeTwice(ctx, client)
	return queues, state.Process{Source: o.source.url}, explainURL(err)
}

// explainURL says why a metrics URL did not answer, and that it may be the wrong
// one: explain's next steps are about kubeconfigs.
func explainURL(err error) error {
	var dns *net.DNSError
	if !errors.As(err, &dns) && !errors.Is(err, syscall.ECONNREFUSED) && !explain.Timeout(err) {
		return err
	}
	reason, _ := explain.Diagnose(err)
	return &explain.Explained{Text: render.Sanitise("ask for metrics: " + reason + ": check --metrics-url"), Err: err}
}

// scrapePod reads the metrics of a pod through the API server.
func (o *Options) scrapePod(ctx context.Context, in cliflags.Cluster) (queues []state.QueueStats, process state.Process, err error) {
	err = o.withPod(ctx, in, func(client *connect.MetricsClient, source string) error {
		process.Source = source
		queues, err = o.scrapeTwice(ctx, client)
		return err
	})
	return queues, process, err
}

// withPod finds the pod that was asked for, and calls use with a client for its
// metrics; a second time where the first spoke TLS to plain text, or the other
// way round, and the scheme was a guess.
func (o *Options) withPod(ctx context.Context, in cliflags.Cluster, use func(client *connect.MetricsClient, source string) error) error {
	namespace, err := cliflags.NamespaceOf(in.Flags)
	if err != nil {
		return err
	}
	reading, err := cliflags.ReadOnlyConfig(in.Flags)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(reading)
	if err != nil {
		return fmt.Errorf("make a client for %s: %w", reading.Host, err)
	}
	endpoint, err := metrics.Locate(ctx, client, namespace, o.source.from)
	if err != nil {
		return explain.Error(err, "find "+o.source.from)
	}
	if endpoint.Remark != "" {
		fmt.Fprintln(o.ErrOut, "warning:", render.Sanitise(endpoint.Remark))
	}
	err = o.withEndpoint(ctx, in.Flags, endpoint, use)
	if err != nil && endpoint.Guessed && wrongScheme(err) {
		err = o.withEndpoint(ctx, in.Flags, endpoint.Other(), use)
	}
	return err
}

// wrongScheme reports whether an answer is one of TLS to plain text or the other
// way round (net/http of Go 1.26).
func wrongScheme(err error) bool {
	text := err.Error()
	return strings.Contains(text, "HTTP request to an HTTPS server") || strings.Contains(text, "server gave HTTP response to HTTPS client")
}

func (o *Options) withEndpoint(ctx context.Context, flags *genericclioptions.ConfigFlags, e metrics.Endpoint, use func(*connect.MetricsClient, string) error) error {
	config, err := forwardConfig(flags, e.Namespace, e.Pod)
	if err != nil {
		return err
	}
	forward, err := connect.Forward(ctx, config, e.Namespace, e.Pod, e.Port)
	if err != nil {
		return explain.Error(err, "read the metrics of pod "+e.Namespace+"/"+e.Pod)
	}
	defer func() { _ = forward.Close() }()
	client, err := o.source.client(e.URL(), config, forward)
	if err != nil {
		return err
	}
	defer client.Close()
	return use(client, fmt.Sprintf("pod %s/%s, port %d", e.Namespace, e.Pod, e.Port))
}

// forwardConfig makes the config that may open a port-forward to one pod, and
// otherwise only read.
func forwardConfig(flags *genericclioptions.ConfigFlags, namespace, pod string) (*rest.Config, error) {
	target, err := connect.TargetOf(flags.ToRawKubeConfigLoader())
	if err != nil {
		return nil, err
	}
	g, err := guard.New(guard.Options{
		Mode: state.ModeReadOnly, Server: target.Server(), BasePath: target.Path(), PortForward: &state.Ref{Namespace: namespace, Name: pod},
	})
	if err != nil {
		return nil, err
	}
	return target.Config(g.Wrap, connect.Limits{QPS: cliflags.ReadQPS, Burst: cliflags.ReadBurst})
}

// client makes the client for one metrics text; its guard lets nothing else
// through. Without a forward it goes over the network and has no credentials.
func (m *metricsFlags) client(text string, config *rest.Config, forward *connect.Forwarder) (*connect.MetricsClient, error) {
	u, err := connect.MetricsURL(text)
	if err != nil {
		return nil, err
	}
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, BasePath: u.Path})
	if err != nil {
		return nil, err
	}
	options := connect.MetricsOptions{URL: text, Wrap: g.Wrap, Credentials: config, CAFile: m.ca, Insecure: m.insecure}
	if forward != nil {
		options.Dial = forward.Dial
	}
	return connect.Metrics(options)
}

// scrapeTwice reads a process's metrics, and once more for the rates.
func (o *Options) scrapeTwice(ctx context.Context, client *connect.MetricsClient) ([]state.QueueStats, error) {
	progress := console.NewProgress(o.ErrOut)
	defer progress.Done()
	progress.Line("reading metrics")
	before, err := o.scrapeOnce(ctx, client)
	if err != nil {
		return nil, err
	}
	if o.interval == 0 {
		return before.Queues(nil), nil
	}
	progress.Line("reading metrics again in " + o.interval.String())
	timer := time.NewTimer(o.interval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	after, err := o.scrapeOnce(ctx, client)
	if err != nil {
		return nil, err
	}
	return after.Queues(before), nil
}

func (o *Options) scrapeOnce(ctx context.Context, client *connect.MetricsClient) (*metrics.Scrape, error) {
	text, err := client.Get(ctx)
	if err != nil {
		return nil, err
	}
	return metrics.Read(bytes.NewReader(text), o.now())
}
