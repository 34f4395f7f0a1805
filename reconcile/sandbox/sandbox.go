package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

const (
	adminUser = "kctl-ctrl-admin"
	// serviceCIDR is kubeadm's default range, cut to the size up to which upstream
	// tracks every address in a bitmap.
	serviceCIDR = "10.96.0.0/16"
	// closeGrace is how long a child may take to remove its files and exit.
	closeGrace = 5 * time.Second
)

// Sandbox is a running control plane. Its methods are safe for concurrent use.
type Sandbox struct {
	dir         *runDir
	credentials *credentials
	auditLog    string
	cmd         *exec.Cmd
	auditFull   func()   // when the audit log has reached its limit
	control     *os.File // held open as long as the child should run
	log         *os.File // readable after the file is gone
	address     string   // host:port, set before OnListening

	exited chan struct{} // closed once the child is gone and exitErr is set

	mu      sync.Mutex
	closing bool
	failure string // the child's own last word
	exitErr error

	closeOnce sync.Once
	closeErr  error
}

// Endpoint has the address and the administrator's credentials of kube-apiserver.
type Endpoint struct {
	URL   string // https://127.0.0.1:PORT
	CA    []byte // PEM, the one authority to trust
	Token string // bearer token of a member of system:masters
}

// SigningInputs are files that some controllers need because the API does not provide
// them: csrsigning (CertFile, KeyFile), the token controller (ServiceAccountKeyFile,
// RootCA), root-ca-cert-publisher (RootCA), nodeipam and the service CIDR controllers
// (ServiceCIDR). They are removed with the sandbox.
type SigningInputs struct {
	CertFile, KeyFile     string // of the authority that client certificates come from
	ServiceAccountKeyFile string // private, PEM
	RootCA                []byte // PEM, what pods verify kube-apiserver with
	ServiceCIDR           string
}

// Start starts a control plane and returns when its /readyz is ok. It fails, and leaves
// nothing behind, if the child exits or ctx is done before that. ctx does not limit the
// lifetime of the sandbox.
//
// The caller's main must call controlplane.RunChild first, and the caller must call
// Close. Exited reports a crash in between.
func Start(ctx context.Context, opts Options) (*Sandbox, error) {
	if os.Getenv(wire.Env) != "" {
		return nil, fmt.Errorf("start sandbox: %s is set, but the main function of this child process does not call controlplane.RunChild", wire.Env)
	}
	if opts.AuditLog != nil {
		defer opts.AuditLog.Close() // the child has it then
	}
	config, err := newConfig(opts)
	if err == nil {
		err = checkOpenFiles()
	}
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	candidates := bases(os.Getenv)
	base, err := openBase(candidates)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	dir, err := newRunDir(base, candidates)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	s := &Sandbox{dir: dir, exited: make(chan struct{}), auditFull: opts.OnAuditLogFull}
	if s.auditFull == nil {
		s.auditFull = func() {}
	}
	events, err := s.launch(config, opts)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", errors.Join(err, s.abandon()))
	}
	err = s.await(ctx, events, opts)
	go s.supervise(events)
	if err != nil {
		s.closeChild(ctx)
		err = fmt.Errorf("start sandbox: %w", err)
		if !errors.Is(err, context.Canceled) { // after cancellation, the reason is irrelevant
			err = fmt.Errorf("%w%s", err, s.lastWords())
		}
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// newConfig checks the options and turns them into the child's configuration.
func newConfig(opts Options) (*wire.Config, error) {
	config := &wire.Config{
		FeatureGates:     opts.FeatureGates,
		DisableAdmission: opts.DisableAdmission,
		ServiceCIDR:      serviceCIDR,
		ExtraArgs:        opts.ExtraArgs,
	}
	if opts.KubernetesVersion != "" {
		version, err := ParseVersion(opts.KubernetesVersion)
		if err != nil {
			return nil, err
		}
		config.EmulatedVersion = version
	}
	if err := opts.Audit.validate(); err != nil {
		return nil, err
	}
	if opts.Audit == AuditNone && opts.AuditLog != nil {
		return nil, errors.New("an audit log file requires an audit level")
	}
	config.Audit, config.AuditBytes = opts.Audit != AuditNone, opts.AuditLogBytes
	return config, nil
}

// launch starts the child and passes it its configuration. The keys are created while
// the child initialises. The returned channel is closed when the child has closed its
// end of the events pipe, at the latest when it exits.
func (s *Sandbox) launch(config *wire.Config, opts Options) (<-chan wire.Event, error) {
	auditLog, err := opts.AuditLog, error(nil)
	if opts.Audit != AuditNone && auditLog == nil {
		if auditLog, err = createPrivate(s.dir.file(wire.AuditLogFile)); err != nil {
			return nil, err
		}
		defer auditLog.Close()
	}
	if s.log, err = createPrivate(s.dir.file(wire.LogFile)); err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	controlRead, controlWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlRead.Close()
	s.control = controlWrite
	eventsRead, eventsWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer eventsWrite.Close()

	s.cmd = &exec.Cmd{
		Path:        executable,
		Args:        []string{executable, wire.ControlPlane},
		Env:         childEnviron(os.Environ(), s.dir.path),
		Dir:         s.dir.path,
		Stdout:      s.log,
		Stderr:      s.log,
		ExtraFiles:  []*os.File{controlRead, eventsWrite, s.dir.lock}, // wire.ControlFD and following
		SysProcAttr: ownSession(),
	}
	if auditLog != nil {
		if s.auditLog, err = filepath.Abs(auditLog.Name()); err != nil {
			return nil, errors.Join(err, eventsRead.Close())
		}
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, auditLog) // wire.AuditFD
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, eventsRead.Close())
	}

	events := make(chan wire.Event)
	go readEvents(eventsRead, events)
	if err := s.configure(config, opts.Audit); err != nil {
		go s.supervise(events)
		return nil, err
	}
	return events, nil
}

// abandon undoes a launch that failed midway.
func (s *Sandbox) abandon() error {
	if s.cmd != nil && s.cmd.Process != nil {
		return s.Close(context.Background())
	}
	var errs []error
	for _, f := range []*os.File{s.control, s.log} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, s.dir.remove())...)
}

// await waits until the child is ready.
func (s *Sandbox) await(ctx context.Context, events <-chan wire.Event, opts Options) error {
	progress := opts.Progress
	if progress == nil {
		progress = func(string) {}
	}
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("control plane is not ready: %w", context.Cause(ctx))
		case event, ok := <-events:
			if !ok {
				return errors.New("control plane exited before it was ready")
			}
			switch event.Type {
			case wire.Listening:
				if _, _, err := net.SplitHostPort(event.Address); err != nil {
					return fmt.Errorf("address of kube-apiserver: %w", err)
				}
				s.address = event.Address
				progress(event.Message)
				if opts.OnListening != nil {
					opts.OnListening(s)
				}
			case wire.Progress:
				progress(event.Message)
			case wire.Ready:
				progress(event.Message)
				return nil
			case wire.AuditFull:
				s.auditFull()
			case wire.Failed:
				s.setFailure(event.Message)
			}
		}
	}
}

// supervise waits for the child's end.
func (s *Sandbox) supervise(events <-chan wire.Event) {
	for event := range events {
		switch event.Type {
		case wire.AuditFull:
			s.auditFull()
		case wire.Failed:
			s.setFailure(event.Message)
		}
	}
	s.control.Close() // it has exited, or failed and waits for this
	_ = s.cmd.Wait()
	s.mu.Lock()
	if !s.closing {
		s.exitErr = fmt.Errorf("control plane (pid %d) exited unexpectedly%s", s.PID(), s.lastWordsLocked())
	}
	s.mu.Unlock()
	close(s.exited)
}

func (s *Sandbox) setFailure(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = message
}

// Close stops the control plane and removes its run directory. The child gets five
// seconds for that, or less if ctx is done earlier, and is then killed. An error means
// that files could not be removed. Close may be called repeatedly and at any time.
func (s *Sandbox) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.closeChild(ctx)
		s.closeErr = errors.Join(s.dir.remove(), s.log.Close())
	})
	return s.closeErr
}

// closeChild returns when the child has exited.
func (s *Sandbox) closeChild(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.control.Close() // twice does no harm
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-s.exited:
		return
	case <-ctx.Done():
	case <-grace.C:
	}
	_ = s.cmd.Process.Kill() // fails only if it has exited
	<-s.exited
}

// Exited is closed when the child has exited, by Close or by a crash. Err reports
// which.
func (s *Sandbox) Exited() <-chan struct{} { return s.exited }

// Err is why the child exited: nil while it runs and after Close, else an error with
// the end of its log.
func (s *Sandbox) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exitErr
}

// Endpoint returns the address and credentials. It is valid from OnListening on.
func (s *Sandbox) Endpoint() Endpoint {
	return Endpoint{URL: "https://" + s.address, CA: s.credentials.serverCA, Token: s.credentials.token}
}

// SigningInputs returns what controllers need besides the API.
func (s *Sandbox) SigningInputs() SigningInputs {
	return SigningInputs{
		CertFile:              s.dir.file(wire.ClientCAFile),
		KeyFile:               s.dir.file(wire.ClientCAKeyFile),
		ServiceAccountKeyFile: s.dir.file(wire.SAPrivateFile),
		RootCA:                s.credentials.serverCA,
		ServiceCIDR:           serviceCIDR,
	}
}

// EtcdEndpoint is the URL of etcd's unix socket. Keys are below /registry.
func (s *Sandbox) EtcdEndpoint() string { return "unix://" + s.dir.file(wire.EtcdSocket) }

// AuditLogPath is the file that the audit log goes to, or empty without one.
func (s *Sandbox) AuditLogPath() string { return s.auditLog }

// RunDir is the directory with all files of the sandbox.
func (s *Sandbox) RunDir() string { return s.dir.path }

// PID is the child's process id.
func (s *Sandbox) PID() int { return s.cmd.Process.Pid }
