package controlplane

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// apiServer is a kube-apiserver that is configured and bound to its port.
type apiServer struct {
	listener  net.Listener
	accepting <-chan struct{} // closed when the first connection is waited for
	run       func(context.Context) error
	health    http.Handler // the server behind its filters, for /readyz
}

// newAPIServer does what app.NewAPIServerCommand and app.Run
// (k8s.io/kubernetes/cmd/kube-apiserver/app@v1.37.1) do with the same flags, but
// for three things: the port is bound here, so that there is no gap between
// choosing and binding it; signals are not handled; and the server is returned
// before it runs. auditFull is called when the audit log has reached its bound.
func newAPIServer(ctx context.Context, dir string, config *wire.Config, auditFull func()) (*apiServer, error) {
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("bind kube-apiserver's port: %w", err)
	}
	listener, accepting := watchAccept(tcp)
	completed, err := completeOptions(ctx, listener, apiServerFlags(dir, config))
	if err != nil {
		return nil, fmt.Errorf("configure kube-apiserver: %w", err)
	}
	serverConfig, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure kube-apiserver: %w", err)
	}
	if err := hastenAdmission(serverConfig); err != nil {
		return nil, fmt.Errorf("configure kube-apiserver's admission: %w", err)
	}
	if config.Audit {
		auditTo(&auditFile{to: os.NewFile(wire.AuditFD, "audit log"), most: config.AuditBytes, full: auditFull}, serverConfig)
	}
	completedConfig, err := serverConfig.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure kube-apiserver: %w", err)
	}
	hooks := replacedHooks()
	var chain *aggregatorapiserver.APIAggregator
	err = withoutHooks(serverConfig.KubeAPIs.ControlPlane.Generic.DisabledPostStartHooks, slices.Collect(maps.Keys(hooks)), func() error {
		chain, err = createServerChain(completedConfig)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create kube-apiserver: %w", err)
	}
	for name, hook := range hooks {
		if err := chain.GenericAPIServer.AddPostStartHook(name, hook); err != nil {
			return nil, fmt.Errorf("create kube-apiserver: %w", err)
		}
	}
	chain.GenericAPIServer.Handler.NonGoRestfulMux.Handle(wire.AdmissionCachePath,
		admissionCaches(serverConfig.KubeAPIs.ControlPlane.VersionedInformers))
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("prepare kube-apiserver: %w", err)
	}
	return &apiServer{
		listener:  listener,
		accepting: accepting,
		run:       prepared.Run,
		health:    chain.GenericAPIServer.Handler.Director,
	}, nil
}

// apiServerFlags are kube-apiserver's flags in this sandbox.
func apiServerFlags(dir string, config *wire.Config) []string {
	file := func(name string) string { return filepath.Join(dir, name) }
	flags := []string{
		"--etcd-servers=unix://" + file(wire.EtcdSocket),

		"--bind-address=127.0.0.1",
		// Without a default route no address can be guessed, and a loopback
		// address is refused as an endpoint.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + file(wire.ServingCertFile),
		"--tls-private-key-file=" + file(wire.ServingKeyFile),

		"--anonymous-auth=false", // who has no token gets no answer at all
		"--authorization-mode=Node,RBAC",
		"--client-ca-file=" + file(wire.ClientCAFile),
		"--token-auth-file=" + file(wire.TokensFile),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + file(wire.SAPublicFile),
		"--service-account-signing-key-file=" + file(wire.SAPrivateFile),

		"--allow-privileged=true", // else pods are refused that every cluster admits
		"--service-cluster-ip-range=" + config.ServiceCIDR,
	}
	if config.EmulatedVersion != "" {
		flags = append(flags, "--emulated-version="+config.EmulatedVersion)
	}
	if len(config.FeatureGates) > 0 {
		var gates []string
		for name, on := range config.FeatureGates {
			gates = append(gates, name+"="+strconv.FormatBool(on))
		}
		flags = append(flags, "--feature-gates="+strings.Join(gates, ","))
	}
	if len(config.DisableAdmission) > 0 {
		flags = append(flags, "--disable-admission-plugins="+strings.Join(config.DisableAdmission, ","))
	}
	if config.Audit {
		flags = append(flags, "--audit-policy-file="+file(wire.AuditPolicyFile)) // see auditTo
	}
	return append(flags, config.ExtraArgs...)
}

// completeOptions parses the flags and applies the process-wide settings that
// depend on them: emulated version, feature gates, logging.
func completeOptions(ctx context.Context, listener net.Listener, args []string) (options.CompletedOptions, error) {
	s := options.NewServerRunOptions()
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	fs.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, set := range s.Flags().FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(args); err != nil {
		return options.CompletedOptions{}, err
	}
	registry := s.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := registry.Set(); err != nil {
		return options.CompletedOptions{}, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{}) // the server's loopback clients
	if err := logsapi.ValidateAndApply(s.Logs, registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)); err != nil {
		return options.CompletedOptions{}, err
	}
	logSafely()
	s.SecureServing.Listener = listener
	completed, err := s.Complete(ctx)
	if err != nil {
		return options.CompletedOptions{}, err
	}
	if completed.InformerName, err = cache.NewInformerName("kube-apiserver"); err != nil {
		return options.CompletedOptions{}, err
	}
	return completed, utilerrors.NewAggregate(completed.Validate())
}

// ready reports whether /readyz is ok. It asks the server's own handler, behind
// authentication and without a connection.
func (s *apiServer) ready() bool {
	request, err := http.NewRequest(http.MethodGet, "/readyz", nil)
	if err != nil {
		return false
	}
	var response statusOnly
	s.health.ServeHTTP(&response, request)
	return response.status == http.StatusOK
}

// statusOnly is a ResponseWriter that keeps the status.
type statusOnly struct {
	status int
	header http.Header
}

func (w *statusOnly) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *statusOnly) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *statusOnly) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return len(p), nil
}

// watchAccept returns l and a channel that is closed when somebody accepts from
// it for the first time.
func watchAccept(l net.Listener) (net.Listener, <-chan struct{}) {
	accepting := make(chan struct{})
	return &watchedListener{Listener: l, first: sync.OnceFunc(func() { close(accepting) })}, accepting
}

type watchedListener struct {
	net.Listener
	first func()
}

func (l *watchedListener) Accept() (net.Conn, error) {
	l.first()
	return l.Listener.Accept()
}
