package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The election of these tests is quick: the figures are the shortest that client-go
// and package election take.
const (
	shortLease    = 4 * time.Second
	shortDeadline = 2 * time.Second
	// writers are the goroutines of an instance that write: the deployment loop's
	// workers, and its recorder of events.
	writers    = 5 + 1
	shortRetry = time.Second
)

// electionArgs are the flags for it.
func electionArgs() []string {
	return []string{
		"--leader-elect-lease-duration=" + shortLease.String(),
		"--leader-elect-renew-deadline=" + shortDeadline.String(),
		"--leader-elect-retry-period=" + shortRetry.String(),
	}
}

// contested is a cluster for which several processes compete: an API server that
// keeps an audit log, without loops. Nobody but the test knows it for a sandbox.
type contested struct {
	*sandbox.Sandbox
	client kubernetes.Interface

	// known is what requests has read of the audit log, read so far.
	known []request
	read  int64
}

const contestedContext = "contested"

func newContested(t *testing.T) *contested {
	t.Helper()
	sb, err := sandbox.Start(t.Context(), sandbox.Options{
		Audit: sandbox.AuditRequest, AuditLog: filepath.Join(t.TempDir(), "audit.log"),
		DisableAdmission: []string{"ServiceAccount"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	return &contested{Sandbox: sb, client: seedClient(t, sb)}
}

// way is an instance's own way to the cluster: a proxy that has the API server know
// the instance by a user's name, and can hold requests up.
type way struct {
	name       string
	kubeconfig string

	mu sync.Mutex
	// meddle answers a request in place of the server, where it returns true.
	meddle func(http.ResponseWriter, *http.Request) bool
	// recordings are the files in which instances have recorded what they did.
	recordings []string
}

func (c *contested) way(t *testing.T, name string) *way {
	t.Helper()
	endpoint := c.Endpoint()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(endpoint.CA)
	to, err := url.Parse(endpoint.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &way{name: name, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Authorization", "Bearer "+endpoint.Token)
			r.Out.Header.Set("Impersonate-User", name)
			r.Out.Header.Set("Impersonate-Group", "system:masters")
		},
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 50},
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		meddle := w.meddle
		w.mu.Unlock()
		if meddle == nil || !meddle(out, r) {
			proxy.ServeHTTP(out, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{}
	config.Contexts[contestedContext] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = contestedContext
	if err := clientcmd.WriteToFile(*config, w.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *way) set(meddle func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meddle = meddle
}

// isLease recognises requests about the lease.
func isLease(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }

// holdUp keeps a request until its client gives it up.
func holdUp(_ http.ResponseWriter, r *http.Request) bool {
	if !isLease(r) {
		return false
	}
	// Only behind the body is the end of the connection seen.
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	return true
}

// tooMany answers with 429.
func tooMany(w http.ResponseWriter, r *http.Request) bool {
	if !isLease(r) {
		return false
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	return true
}

// keepBusy creates Deployments and changes them for as long as the test lasts, so
// that whoever leads always has something to write.
func (c *contested) keepBusy(t *testing.T, names ...string) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	for _, name := range names {
		_, err := c.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() {
		tick := time.NewTicker(25 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d},"metadata":{"annotations":{"turn":"%d"}}}`, i%3, i)
			_, _ = c.client.AppsV1().Deployments("default").Patch(ctx, names[i%len(names)], types.MergePatchType, patch, metav1.PatchOptions{})
		}
	})
	t.Cleanup(func() { cancel(); busy.Wait() })
}

// request is a mutating request as the API server records it.
type request struct {
	who, what      string
	lease          bool
	code           int32
	received, done time.Time
}

// requests reads on in the audit log: what the instances asked to change, in the order in
// which the API server received it.
func (c *contested) requests(t *testing.T) []request {
	t.Helper()
	file, err := os.Open(c.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(c.read, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // a line that is being written is not read
		}
		c.read += int64(len(line))
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if event.Stage != auditv1.StageResponseComplete || !mutating(event) || event.ImpersonatedUser == nil {
			continue
		}
		r := request{
			who: event.ImpersonatedUser.Username, what: event.Verb + " " + event.RequestURI,
			received: event.RequestReceivedTimestamp.Time, done: event.StageTimestamp.Time,
		}
		if event.ResponseStatus != nil {
			r.code = event.ResponseStatus.Code
		}
		if o := event.ObjectRef; o != nil && o.Resource == "leases" && o.Namespace == "kube-system" {
			r.lease = true
		}
		c.known = append(c.known, r)
	}
	slices.SortStableFunc(c.known, func(a, b request) int { return a.received.Compare(b.received) })
	return c.known
}

// ruling is what the API server's records say about who wrote when.
type ruling struct {
	writes map[string]int // by instance
	// late were received more than the renew deadline after the last renewal that
	// the server had received from the same instance; stray after another instance
	// had been given the lease.
	late, stray []breach
	// terms are the instances that held the lease, in order.
	terms []string
}

// A breach is a write that was received later than it may have been sent.
type breach struct {
	request
	renewed time.Time // as the server received it
}

func (b breach) String() string {
	return fmt.Sprintf("%s: %s at %s, %s after its renewal", b.who, b.what, b.received.Format("15:04:05.000000"), b.received.Sub(b.renewed))
}

// rule goes by the server's times alone. An instance counts from before a renewal
// leaves it, so that by the server's clock it must stop earlier than the bound here.
func rule(requests []request, deadline time.Duration) ruling {
	v := ruling{writes: map[string]int{}}
	renewed := map[string]time.Time{}
	holder := ""
	for _, r := range requests {
		switch {
		case r.lease:
			if r.code < 300 {
				renewed[r.who] = r.received
				if holder != r.who {
					holder = r.who
					v.terms = append(v.terms, r.who)
				}
			}
			continue
		case r.who == "kcm" || r.who == "ks":
			continue // upstream's promises are not ours
		}
		v.writes[r.who]++
		if r.received.Sub(renewed[r.who]) > deadline {
			v.late = append(v.late, breach{r, renewed[r.who]})
		}
		if holder != r.who {
			v.stray = append(v.stray, breach{r, renewed[r.who]})
		}
	}
	return v
}

// A sent write is one in the recording of who made it, named as the audit log does.
type sent struct {
	what         string
	began, ended time.Time
	// answered: ended is when the answer came. What was given up may be received
	// later still.
	answered bool
	// brokenOff: the gate shut after the head of the request and before its body. The
	// server carries no such request out.
	brokenOff bool
}

// sentBy reads what the instances of a way recorded.
func sentBy(t *testing.T, w *way) []sent {
	t.Helper()
	var out []sent
	for _, path := range w.recordings {
		journal, err := recording.Open(path, recording.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		defer journal.Close()
		for {
			e, err := journal.Next()
			if err != nil {
				break // a process that was killed has left less
			}
			if w, ok := e.Event.(state.WriteFinished); ok {
				refused := w.Result == state.WriteRefused
				out = append(out, sent{what: audited(w), began: e.At.Add(-w.Duration), ended: e.At, answered: w.Status != 0 && !refused, brokenOff: refused})
			}
		}
	}
	return out
}

// audited is how the audit log names a write.
func audited(w state.WriteFinished) string {
	path := "/apis/" + w.Object.Group + "/" + w.Object.Version
	if w.Object.Group == "" {
		path = "/api/" + w.Object.Version
	}
	path += "/namespaces/" + w.Object.Namespace + "/" + w.Object.Resource
	if w.Verb != "create" { // which goes to the collection
		path += "/" + w.Object.Name
	}
	if w.Subresource != "" {
		path += "/" + w.Subresource
	}
	return w.Verb + " " + path
}

// underWay takes from writes the one that is a request, if it was begun before a
// moment: then the request was on its way at that moment.
func underWay(writes *[]sent, r request, at time.Time) (began time.Time, found bool) {
	i := slices.IndexFunc(*writes, func(w sent) bool {
		return w.what == r.what && !(w.brokenOff && r.code < http.StatusBadRequest) && w.began.Before(at) && !w.began.After(r.received) && (!w.answered || !w.ended.Before(r.received))
	})
	if i < 0 {
		return time.Time{}, false
	}
	began = (*writes)[i].began
	*writes = slices.Delete(*writes, i, i+1)
	return began, true
}

// checkLate judges the writes of processes that were not stopped. None may come while
// another leads, nor end after the lease has expired. One that came after the deadline
// is named, and has to have been sent before it.
func checkLate(t *testing.T, v ruling, ways ...*way) {
	t.Helper()
	for _, w := range ways {
		writes, under := sentBy(t, w), map[time.Time]int{}
		for _, b := range v.stray {
			if b.who == w.name {
				t.Errorf("while another led: %s", b)
			}
		}
		for _, b := range v.late {
			if b.who != w.name {
				continue
			}
			if b.done.Sub(b.renewed) > shortLease {
				t.Errorf("done after the lease had expired: %s", b)
			}
			if began, found := underWay(&writes, b.request, b.renewed.Add(shortDeadline)); found {
				if under[b.renewed]++; under[b.renewed] > writers {
					t.Errorf("more requests are under way than there are writers: %s", b)
				}
				t.Logf("under way when the deadline passed, sent %s after the renewal: %s", began.Sub(b.renewed), b)
			} else {
				t.Errorf("sent late: %s", b)
			}
		}
	}
}

// inProcess starts a session of active mode in this process, that nothing stops
// when the lease is lost: only the guard stands between its loops and the cluster.
// end ends it, and its recording.
func inProcess(t *testing.T, w *way, broken guard.Broken, with ...func(*session)) (s *session, end func()) {
	t.Helper()
	s, err := newSession(sessionOptions{logFile: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	s.broken = broken
	s.end = func(error) {}
	for _, prepare := range with {
		prepare(s)
	}
	o := &runOptions{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{}
	o.addTo(cmd)
	args := append([]string{"--active", "--confirm=" + contestedContext, "--controllers=deployment", "--kube-api-qps=-1", "--kubeconfig=" + w.kubeconfig}, electionArgs()...)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	w.recordings = append(w.recordings, filepath.Join(t.TempDir(), "journal.jsonl"))
	recorded, err := (&recordFlags{file: w.recordings[0]}).start(s)
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { s.shutDown(os.Stderr); recorded.wait() })
	t.Cleanup(end)
	if err := o.startOnCluster(t.Context(), s, state.ModeActive, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return s, end
}

// awaitWrites waits until the journal has so many writes of a result after from.
func awaitWrites(t *testing.T, s *session, result state.WriteResult, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	journal := s.hub.Subscribe(0)
	for seen := 0; seen < n; {
		entries, err := journal.Next(ctx)
		if err != nil {
			t.Fatalf("%d writes are %s, want %d: %v", seen, result, n, err)
		}
		for _, e := range entries {
			if w, ok := e.Event.(state.WriteFinished); ok && w.Result == result && w.Controller == "deployment-controller" {
				seen++
			}
		}
	}
}

// TestGateOnAServer holds the renewals up while the loops go on: what the API
// server received of them says whether the gate was shut in time.
func TestGateOnAServer(t *testing.T) {
	for _, broken := range []bool{false, true} {
		t.Run(fmt.Sprintf("broken=%v", broken), func(t *testing.T) {
			c := newContested(t)
			c.keepBusy(t, "web-1", "web-2", "web-3")
			w := c.way(t, "a")
			s, end := inProcess(t, w, guard.Broken{IgnoreGate: broken})
			awaitWrites(t, s, state.WriteDone, 20)
			w.set(holdUp)
			if broken {
				deadline := time.Now().Add(time.Minute)
				for len(rule(c.requests(t), shortDeadline).late) == 0 {
					if time.Now().After(deadline) {
						t.Fatal("a gate that is ignored lets nothing late out: the test cannot see that it is missing")
					}
					awaitWrites(t, s, state.WriteDone, 5)
				}
				return
			}
			awaitWrites(t, s, state.WriteRefused, 50)
			phase := s.hub.Flush().Election
			end()
			v := rule(c.requests(t), shortDeadline)
			if v.writes["a"] < 20 {
				t.Errorf("%d writes", v.writes["a"])
			}
			checkLate(t, v, w)
			if phase == nil || phase.Phase != state.ElectionLost {
				t.Errorf("the journal's last word of the election is %+v", phase)
			}
		})
	}
}

// TestAskOnACluster: with --ask, nothing but the lease leaves without a yes.
func TestAskOnACluster(t *testing.T) {
	c := newContested(t)
	c.keepBusy(t, "web-1")
	s, _ := inProcess(t, c.way(t, "a"), guard.Broken{}, func(s *session) { s.decide(decision{ask: true}) })
	gate := s.approval.gate
	left := func() (writes []string) {
		for _, r := range c.requests(t) {
			if r.who == "a" && !r.lease && !strings.Contains(r.what, "/events") { // they are not asked about
				writes = append(writes, r.what)
			}
		}
		return writes
	}
	await(t, "a question is asked", func() bool { return len(gate.Questions()) > 0 })
	if writes := left(); len(writes) != 0 {
		t.Errorf("left while the first question stands: %q", writes)
	}
	if err := gate.Answer(gate.Questions()[0].ID, state.AnswerYes); err != nil {
		t.Fatal(err)
	}
	awaitWrites(t, s, state.WriteDone, 1)
	if writes := left(); len(writes) != 1 {
		t.Errorf("left after one yes: %q", writes)
	}
}

// instance is a kctl-ctrl process that competes for the lease.
type instance struct {
	*exec.Cmd
	*way
	stderr bytes.Buffer

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed when a line has come, or the end
	ended bool
}

// start runs an instance: run --active on the contested cluster.
func (w *way) start(t *testing.T, args ...string) *instance {
	t.Helper()
	args = append(append([]string{"run", "--active", "--confirm=" + contestedContext, "--kubeconfig=" + w.kubeconfig}, electionArgs()...), args...)
	w.recordings = append(w.recordings, filepath.Join(t.TempDir(), "journal.jsonl"))
	args = append(args, "--record="+w.recordings[len(w.recordings)-1])
	p := &instance{Cmd: program(t, args...), way: w, more: make(chan struct{})}
	p.Env = append(p.Env, "XDG_CONFIG_HOME="+t.TempDir(), "KCTL_CTRL_ATTACH_DIR="+t.TempDir())
	p.Stderr = &p.stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	go func() {
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			p.add(scanner.Text(), false)
		}
		p.add("", true)
	}()
	return p
}

func (p *instance) add(line string, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !end {
		p.lines = append(p.lines, line)
	}
	p.ended = p.ended || end
	close(p.more)
	p.more = make(chan struct{})
}

// says waits for a line of the journal.
func (p *instance) says(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		p.mu.Lock()
		found := slices.ContainsFunc(p.lines, func(l string) bool { return strings.Contains(l, text) })
		ended, more := p.ended, p.more
		last := strings.Join(p.lines[max(0, len(p.lines)-20):], "\n")
		p.mu.Unlock()
		if found {
			return
		}
		if ended {
			t.Fatalf("%s ended without saying %q:\n%s\n%s", p.name, text, last, p.stderr.String())
		}
		select {
		case <-more:
		case <-timeout:
			t.Fatalf("%s does not say %q:\n%s", p.name, text, last)
		}
	}
}

// exits waits for the end, which has to have a code.
func (p *instance) exits(t *testing.T, code int) {
	t.Helper()
	for {
		p.mu.Lock()
		ended, more := p.ended, p.more
		p.mu.Unlock()
		if ended {
			break
		}
		<-more // the context of the process bounds it
	}
	_ = p.Wait()
	if got := p.ProcessState.ExitCode(); got != code {
		t.Errorf("%s ended with %d, want %d:\n%s", p.name, got, code, p.stderr.String())
	}
}

// TestHandOvers has two processes hand the lease over, in each of the ways in which
// that happens, and reads from the API server's records that no write came late and
// none came while the other held the lease.
func TestHandOvers(t *testing.T) {
	c := newContested(t)
	c.keepBusy(t, "web-1", "web-2", "web-3")
	handOver(t, c, "")
}

// handOver goes through all ways of losing the lease once.
func handOver(t *testing.T, c *contested, prefix string) {
	t.Helper()
	loops := []string{"--controllers=deployment", "--kube-api-qps=-1"}
	held := len(rule(c.requests(t), shortDeadline).terms)
	ways := [2]*way{c.way(t, prefix+"a"), c.way(t, prefix+"b")}
	leads := ways[0].start(t, loops...)
	leads.says(t, "acquired")
	for _, lose := range []struct {
		name string
		do   func(*instance)
		code int
	}{
		{"held up", func(p *instance) { p.set(holdUp) }, exitLost},
		{"429", func(p *instance) { p.set(tooMany) }, exitLost},
		{"asked to end", func(p *instance) { _ = p.Process.Signal(syscall.SIGTERM) }, exitOK},
		{"killed", func(p *instance) { _ = p.Process.Kill() }, -1},
	} {
		other := ways[0]
		if leads.way == ways[0] {
			other = ways[1]
		}
		other.set(nil)
		next := other.start(t, loops...)
		next.says(t, "candidate")
		next.says(t, " leads since ")
		before := rule(c.requests(t), shortDeadline).writes[leads.name]
		await(t, "the leader writes", func() bool { return rule(c.requests(t), shortDeadline).writes[leads.name] > before })
		lose.do(leads)
		leads.exits(t, lose.code)
		next.says(t, "acquired")
		next.says(t, "1 loop runs: deployment")
		await(t, "the next one writes", func() bool {
			v := rule(c.requests(t), shortDeadline)
			return v.terms[len(v.terms)-1] == next.name
		})
		leads = next
	}
	_ = leads.Process.Signal(syscall.SIGTERM)
	leads.exits(t, exitOK)
	v := rule(c.requests(t), shortDeadline)
	checkLate(t, v, ways[0], ways[1])
	if len(v.terms)-held < 4 || v.writes[ways[0].name] == 0 || v.writes[ways[1].name] == 0 {
		t.Errorf("the lease was held by %q, writes %v", v.terms, v.writes)
	}
	t.Logf("%d terms, %s wrote %d times and %s %d times", len(v.terms)-held, ways[0].name, v.writes[ways[0].name], ways[1].name, v.writes[ways[1].name])
}

// TestPolicyOnACluster has the API server say what a policy let out: ReplicaSets are
// created, and nothing else is written.
func TestPolicyOnACluster(t *testing.T) {
	c := newContested(t)
	c.keepBusy(t, "web-1", "web-2")
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(`apiVersion: kctl-ctrl.dev/v1alpha1
kind: ApprovePolicy
allow:
- {controllers: [deployment], verbs: [create], kinds: [replicasets.apps], namespaces: ["*"]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := c.way(t, "a").start(t, "--controllers=deployment", "--approve-policy="+policy)
	p.says(t, "refused")
	allowed := func(r request) bool {
		return strings.HasPrefix(r.what, "create /apis/apps/v1/namespaces/default/replicasets")
	}
	await(t, "the policy lets a write out", func() bool { return slices.ContainsFunc(c.requests(t), allowed) })
	_ = p.Process.Signal(syscall.SIGTERM)
	p.exits(t, exitOK)
	for _, r := range c.requests(t) {
		// A review stores nothing.
		if !r.lease && !allowed(r) && !strings.Contains(r.what, "/selfsubject") {
			t.Errorf("no rule of the policy covers %s", r.what)
		}
	}
}

// await polls for what only the API server knows.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// The judge must see what it is there for.
func TestJudge(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, int64(s*1e9)) }
	lease := func(who string, s float64) request {
		return request{who: who, lease: true, code: 200, received: at(s), what: "update lease"}
	}
	write := func(who string, s float64) request {
		return request{who: who, code: 200, received: at(s), what: "update rs"}
	}
	refused := lease("b", 3)
	refused.code = 409
	for name, c := range map[string]struct {
		requests    []request
		late, stray int
	}{
		"in time":              {[]request{lease("a", 0), write("a", 1.9)}, 0, 0},
		"late":                 {[]request{lease("a", 0), write("a", 2.1)}, 1, 0},
		"renewed":              {[]request{lease("a", 0), lease("a", 2), write("a", 3)}, 0, 0},
		"never led":            {[]request{write("a", 0)}, 1, 1},
		"the other leads":      {[]request{lease("a", 0), lease("b", 1), write("a", 1.5)}, 0, 1},
		"the other only tried": {[]request{lease("a", 2), refused, write("a", 3.5)}, 0, 0},
	} {
		if v := rule(c.requests, 2*time.Second); len(v.late) != c.late || len(v.stray) != c.stray {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
