package owners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// fakeServer serves ConfigMaps and Secrets, as a server does that knows no
// aggregated discovery, in pages.
type fakeServer struct {
	*testing.T
	maps int
	// expire is how many continued pages get 410 Gone.
	expire int

	mu   sync.Mutex
	seen []string
}

func (s *fakeServer) reader(opts Options) *Reader {
	server := httptest.NewServer(s)
	s.Cleanup(server.Close)
	r, err := NewReader(&rest.Config{Host: server.URL}, opts)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req.Method+" "+req.URL.RequestURI())
	reply := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	status := func(code int, reason metav1.StatusReason) {
		reply(code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: string(reason)})
	}
	verbs := metav1.Verbs{"get", "list", "watch", "delete"}
	switch req.URL.Path {
	case "/api":
		reply(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
	case "/apis":
		reply(200, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
	case "/api/v1":
		reply(200, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: verbs}, {Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: verbs},
		}})
	case "/api/v1/namespaces/a/configmaps":
		if !strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadataList") {
			s.Errorf("%s asks for whole objects", req.URL)
		}
		s.page(req, reply, status)
	case "/api/v1/secrets", "/api/v1/namespaces/b/secrets", "/api/v1/namespaces/a/secrets":
		status(403, metav1.StatusReasonForbidden)
	case "/api/v1/configmaps":
		status(403, metav1.StatusReasonForbidden)
	case "/api/v1/namespaces/a/configmaps/there":
		reply(200, metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "there", UID: "there"},
		})
	default:
		status(404, metav1.StatusReasonNotFound)
	}
}

func (s *fakeServer) page(req *http.Request, reply func(int, any), status func(int, metav1.StatusReason)) {
	from, _ := strconv.Atoi(req.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(req.URL.Query().Get("limit"))
	if from > 0 && s.expire > 0 {
		s.expire--
		status(410, metav1.StatusReasonExpired)
		return
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	for i := from; i < min(from+limit, s.maps); i++ {
		name := fmt.Sprintf("m%03d", i)
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}})
	}
	if from+limit < s.maps {
		list.Continue = strconv.Itoa(from + limit)
	}
	reply(200, list)
}

func TestScanInPages(t *testing.T) {
	for _, expire := range []int{0, 1, 2, 3} {
		s := &fakeServer{T: t, maps: 250, expire: expire}
		r := s.reader(Options{PageSize: 100})
		g, err := r.Scan(t.Context(), Scope{Namespaces: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		gaps := r.Gaps()
		if expire <= maxRestarts {
			if g.Len() != 250 || len(gaps) != 1 || gaps[0].Type != "secrets" || gaps[0].Reason != "forbidden" {
				t.Errorf("expired %d times: %d objects, gaps %v", expire, g.Len(), gaps)
			}
		} else if len(gaps) != 2 {
			t.Errorf("expired %d times: gaps %v", expire, gaps)
		}
		for _, line := range s.seen {
			if !strings.HasPrefix(line, "GET ") {
				t.Errorf("a reader sent %s", line)
			}
		}
		if cost := r.Cost(); int(cost.Requests) != len(s.seen) || cost.Bytes == 0 || cost.Types != 2 {
			t.Errorf("cost %+v for %d requests", cost, len(s.seen))
		}
	}
}

// Where the whole may not be listed, the namespaces at hand are.
func TestScanFallsBackToNamespaces(t *testing.T) {
	s := &fakeServer{T: t, maps: 3}
	r := s.reader(Options{})
	g, err := r.Scan(t.Context(), Scope{Everywhere: true, Namespaces: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if g.Len() != 3 {
		t.Errorf("%d objects, want those of namespace a", g.Len())
	}
	var gaps []string
	for _, gap := range r.Gaps() {
		gaps = append(gaps, strings.TrimSuffix(gap.Type+" "+gap.Namespace, " "))
	}
	if want := []string{"configmaps", "secrets", "secrets a"}; !slices.Equal(gaps, want) {
		t.Errorf("gaps %q, want %q", gaps, want)
	}
	// Only namespace a is known to its end.
	if v, _ := g.Verdict(configMap("a", "x"), owned("nothing")); v != document.OwnerAbsent {
		t.Errorf("in namespace a: %s", v)
	}
	if v, _ := g.Verdict(configMap("b", "x"), owned("nothing")); v != document.OwnerUnknown {
		t.Errorf("in namespace b: %s", v)
	}
}

func TestBudget(t *testing.T) {
	s := &fakeServer{T: t, maps: 250}
	r := s.reader(Options{PageSize: 10, MaxRequests: 8, Concurrency: 1})
	g, err := r.Scan(t.Context(), Scope{Namespaces: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.seen) > 8 || g.Len() == 0 || g.Len() == 250 {
		t.Errorf("%d requests, %d objects", len(s.seen), g.Len())
	}
	if gaps := r.Gaps(); len(gaps) == 0 || gaps[0].Reason != "budget" {
		t.Errorf("gaps %v", gaps)
	}
}

func TestCompleteOwners(t *testing.T) {
	s := &fakeServer{T: t}
	r := s.reader(Options{})
	kinds, err := r.Kinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := NewGraph(kinds)
	secret := document.OwnerRef{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "s"}
	item := configMap("a", "item", owned("there"), owned("gone"), secret)
	g.Add(item)
	before := len(s.seen)
	for range 2 { // what was looked for is not looked for again
		if err := r.CompleteOwners(t.Context(), g, []*Object{item, item}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.seen) - before; n != 3 {
		t.Errorf("%d requests for three owners: %q", n, s.seen[before:])
	}
	for name, want := range map[string]document.OwnerVerdict{"there": document.OwnerPresent, "gone": document.OwnerAbsent} {
		if got, why := g.Verdict(item, owned(name)); got != want {
			t.Errorf("%s: %s (%s), want %s", name, got, why, want)
		}
	}
}

func TestCancelledScan(t *testing.T) {
	s := &fakeServer{T: t, maps: 3}
	r := s.reader(Options{})
	if _, err := r.Kinds(t.Context()); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := r.Scan(ctx, Scope{Namespaces: []string{"a"}}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}
