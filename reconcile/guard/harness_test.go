package guard_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"sync"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// arrival is a request as a server received it.
type arrival struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
}

// server stands for an API server: it remembers what arrives, serves objects
// by path to GETs, and answers writes with what was sent.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	arrivals []arrival
	objects  map[string]string
	// onWrite, if set, answers the writes; onRead the GETs for which it returns true.
	onWrite http.HandlerFunc
	onRead  func(http.ResponseWriter, *http.Request) bool
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{objects: map[string]string{}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.arrivals = append(s.arrivals, arrival{r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), body})
	object, found := s.objects[r.URL.Path]
	if !found && r.Method == http.MethodPatch { // of a subresource
		object, found = s.objects[path.Dir(r.URL.Path)]
	}
	onWrite, onRead := s.onWrite, s.onRead
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case r.Method == http.MethodGet && onRead != nil && onRead(w, r):
	case r.Method != http.MethodGet && onWrite != nil:
		onWrite(w, r)
	case r.Method == http.MethodGet && found:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, object)
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
	case r.Method == http.MethodDelete:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Success","details":{"uid":"u-deleted"}}`)
	case r.Method == http.MethodPatch && found:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, object)
	default:
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write(body)
	}
}

// serve makes an object readable at path.
func (s *server) serve(path, object string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = object
}

// writes are the arrivals that are not reads, and takes them.
func (s *server) writes() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	var writes []arrival
	for _, a := range s.arrivals {
		if a.Method != http.MethodGet {
			writes = append(writes, a)
		}
	}
	s.arrivals = nil
	return writes
}

// all are the arrivals.
func (s *server) all() []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals
}

// authority is the PEM of the server's certificate authority.
func (s *server) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func (s *server) grant(t testing.TB) guard.SandboxGrant {
	t.Helper()
	ours := s.authority()
	grant, err := guard.GrantSandbox(s.URL, ours, func(ca []byte) bool { return bytes.Equal(ca, ours) })
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// journal collects what is recorded.
type journal struct {
	mu     sync.Mutex
	events []state.Event
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) writes() []state.WriteFinished {
	j.mu.Lock()
	defer j.mu.Unlock()
	var writes []state.WriteFinished
	for _, e := range j.events {
		if w, ok := e.(state.WriteFinished); ok {
			writes = append(writes, w)
		}
	}
	return writes
}

func (j *journal) last(t testing.TB) state.WriteFinished {
	t.Helper()
	writes := j.writes()
	if len(writes) == 0 {
		t.Fatal("no write was recorded")
	}
	return writes[len(writes)-1]
}

// world is a guard in front of a server, with real clients of all three kinds.
type world struct {
	contentType string
	*server
	*journal
	guard     *guard.Guard
	transport http.RoundTripper
	typed     *kubernetes.Clientset
	dynamic   dynamic.Interface
	metadata  metadata.Interface
}

// newWorld makes a guard of a mode. contentType is that of the typed client.
func newWorld(t testing.TB, mode state.Mode, contentType string, adjust ...func(*guard.Options)) *world {
	t.Helper()
	s, j := newServer(t), &journal{}
	options := guard.Options{Mode: mode, Recorder: j}
	if mode == state.ModeActive {
		options.Grant, options.Server = s.grant(t), s.URL
	}
	for _, f := range adjust {
		f(&options)
	}
	g, err := guard.New(options)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{server: s, journal: j, guard: g, contentType: contentType}
	w.through(t, g.Wrap(s.Client().Transport))
	return w
}

// through has the clients of a world send by a transport.
func (w *world) through(t testing.TB, transport http.RoundTripper) {
	t.Helper()
	w.transport = transport
	config := &rest.Config{Host: w.server.URL, UserAgent: "kctl-ctrl/tester", QPS: -1}
	config.ContentType = w.contentType
	var err error
	client := &http.Client{Transport: agent{w.transport}}
	if w.typed, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
		t.Fatal(err)
	}
	plain := rest.CopyConfig(config)
	plain.ContentType = ""
	if w.dynamic, err = dynamic.NewForConfigAndClient(plain, client); err != nil {
		t.Fatal(err)
	}
	if w.metadata, err = metadata.NewForConfigAndClient(plain, client); err != nil {
		t.Fatal(err)
	}
}

// agent sets the user agent, as rest.HTTPWrappersForConfig does for clients
// that are not handed their http.Client.
type agent struct{ next http.RoundTripper }

func (a agent) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", "kctl-ctrl/tester")
	return a.next.RoundTrip(req)
}

// do sends one request through the guard and returns status and body.
func (w *world) do(t testing.TB, method, path string, header http.Header, body []byte) (int, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, w.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func toMap(t testing.TB, body []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return m
}

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/vnd.kubernetes.protobuf"
	typeCBOR     = "application/cbor"
)

var allModes = []state.Mode{state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer, state.ModeActive}
