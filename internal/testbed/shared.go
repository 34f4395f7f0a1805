package testbed

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kctl-ctrl/kctl-ctrl/internal/recycle"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/ownfile"
)

// slots bounds how many of the Parallel tests run at a time: most of the time they wait
// for leases, terminals and controllers.
var slots = make(chan struct{}, 4)

// Parallel has a test run beside others. Its subtests may be Parallel only if it is not.
func Parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	takeSlot(t, time.Now())
}

// takeSlot says how long the test has waited since it was called, which is no time of
// its own: .ci/slowest leaves it out.
func takeSlot(t *testing.T, since time.Time) {
	t.Helper()
	slots <- struct{}{}
	t.Cleanup(func() { <-slots })
	t.Logf("waited %.1fs for its turn", time.Since(since).Seconds())
}

// control is the right to run controllers in this process: klog, feature gates and error
// handlers are the process's.
var control sync.Mutex

// WithControllers has a test that runs controllers in this process run beside tests that
// do not.
func WithControllers(t *testing.T) {
	t.Helper()
	NeedsSandbox(t)
	t.Parallel()
	since := time.Now()
	control.Lock()
	t.Cleanup(control.Unlock)
	takeSlot(t, since)
}

// TakeControl is for a Parallel test that runs controllers in this process for a while.
// It waits without its slot, which those before it may need.
func TakeControl(t *testing.T) {
	t.Helper()
	<-slots
	since := time.Now()
	control.Lock()
	slots <- struct{}{}
	t.Logf("waited %.1fs for its turn", time.Since(since).Seconds())
}

// NeedsSandbox skips a test with -short.
func NeedsSandbox(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: it starts a sandbox")
	}
}

// Sandbox is a control plane without controllers, nodes and scheduler that is
// used by one test after the other. It has an audit log, and serves every API.
type Sandbox struct {
	*sandbox.Sandbox
	recycled *recycle.Cluster
	// AuditFrom is where the audit log of the test that has it begins.
	AuditFrom int64
}

// sandboxes are those that no test has.
var sandboxes struct {
	sync.Mutex
	dir  string // of the audit logs
	idle []*Sandbox
	made int
}

// Share gives a test a sandbox that is as empty as a new one. At the end of the test,
// after its other cleanups, what it has left is removed, and the next test has it.
func Share(t *testing.T) *Sandbox {
	t.Helper()
	NeedsSandbox(t)
	s := idleSandbox()
	if s == nil {
		s = startShared(t)
	}
	info, err := os.Stat(s.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	s.AuditFrom = info.Size()
	t.Cleanup(func() {
		if err := s.recycled.Empty(context.Background()); err != nil {
			t.Logf("the shared sandbox is of no use to the next test: %v", err)
			_ = s.Close(context.Background())
			return
		}
		sandboxes.Lock()
		defer sandboxes.Unlock()
		sandboxes.idle = append(sandboxes.idle, s)
	})
	return s
}

// idleSandbox is nil where all are taken.
func idleSandbox() *Sandbox {
	sandboxes.Lock()
	defer sandboxes.Unlock()
	n := len(sandboxes.idle)
	if n == 0 {
		return nil
	}
	s := sandboxes.idle[n-1]
	sandboxes.idle = sandboxes.idle[:n-1]
	return s
}

func startShared(t *testing.T) *Sandbox {
	t.Helper()
	sandboxes.Lock()
	sandboxes.made++
	log := filepath.Join(sandboxes.dir, "audit-"+strconv.Itoa(sandboxes.made)+".log")
	sandboxes.Unlock()
	options := Options(nil)
	var err error
	if options.AuditLog, err = ownfile.Create(log, false); err != nil {
		t.Fatal(err)
	}
	sb, err := sandbox.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	awaitOwnService(t, sb)
	endpoint := sb.Endpoint()
	recycled, err := recycle.New(t.Context(), endpoint.URL, endpoint.CA, endpoint.Token)
	if err != nil {
		_ = sb.Close(context.Background())
		t.Fatal(err)
	}
	return &Sandbox{Sandbox: sb, recycled: recycled}
}

// awaitOwnService returns when kube-apiserver has created its own Service, which it does
// some time after it is ready.
func awaitOwnService(t *testing.T, sb *sandbox.Sandbox) {
	t.Helper()
	client := SeedClient(t, sb)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Services("default").Get(ctx, "kubernetes", metav1.GetOptions{})
		if err == nil {
			_, err = client.NetworkingV1().IPAddresses().Get(ctx, "10.96.0.1", metav1.GetOptions{})
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatalf("kube-apiserver has not created its Service: %v", err)
	}
}

// Kubeconfig writes a kubeconfig that leads to a sandbox, for the test alone.
func Kubeconfig(t *testing.T, sb *sandbox.Sandbox) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, err := sb.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Prepare is what TestMain does for tests that run beside others; done undoes it.
func Prepare() (done func()) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "100") // slots is the bound
	}
	dir, err := os.MkdirTemp("", "kctl-ctrl-tests")
	if err != nil {
		panic(err)
	}
	sandboxes.dir = dir
	// No test is to see the settings of who runs it.
	_ = os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	return func() {
		for _, s := range sandboxes.idle {
			_ = s.Close(context.Background())
		}
		_ = os.RemoveAll(dir)
	}
}

// Dir is for what tests share, until the last has ended.
func Dir() string { return sandboxes.dir }

// ReleaseControl gives back what TakeControl took.
func ReleaseControl() { control.Unlock() }
