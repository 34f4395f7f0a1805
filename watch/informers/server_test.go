package informers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// apiServer speaks as much of the API as an informer needs, over HTTP, with JSON.
// It serves one type at a time under any path.
type apiServer struct {
	t    testing.TB
	addr string

	mu       sync.Mutex
	objects  map[string]object
	version  int
	history  []change
	oldest   int // watches from before are expired
	changed  chan struct{}
	requests []string
	// refuse answers a verb with a status code, where it is set.
	refuse map[string]int
	// hold, where it is set, keeps a list that is streamed from ending.
	hold chan struct{}
	// plain: lists cannot be streamed.
	plain bool
	// frank: a watch gets bookmarks of whatever version, as from kube-apiserver without a
	// watch cache. With one it gets nothing up to the version that it began with.
	frank bool
	// dead: what is asked while it is set gets no answer ever.
	dead bool
	http *http.Server
}

type object = map[string]any

type change struct {
	version int
	kind    string
	object  object
}

func newServer(t testing.TB, objects ...object) *apiServer {
	t.Helper()
	s := &apiServer{t: t, objects: map[string]object{}, version: 100, changed: make(chan struct{}), refuse: map[string]int{}}
	for _, o := range objects {
		s.set("ADDED", o)
	}
	s.history, s.oldest = nil, s.version
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

func (s *apiServer) start(addr string) {
	s.t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(s.serve)}
	s.mu.Lock()
	s.addr, s.http = listener.Addr().String(), server
	s.mu.Unlock()
	go server.Serve(listener) //nolint:errcheck // it ends with an error always
}

// stop ends it as a crash does: connections break.
func (s *apiServer) stop() {
	s.mu.Lock()
	server := s.http
	s.mu.Unlock()
	server.Close()
}

func (s *apiServer) restart() { s.start(s.addr) }

func (s *apiServer) config() *rest.Config {
	return &rest.Config{Host: "http://" + s.addr, QPS: -1}
}

func pod(namespace, name string, more ...func(meta object)) object {
	meta := object{"name": name, "namespace": namespace, "uid": "uid-" + namespace + "-" + name, "creationTimestamp": "2026-01-02T03:04:05Z"}
	for _, f := range more {
		f(meta)
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": object{"nodeName": "n1"}, "status": object{"phase": "Running"}}
}

func labelled(pairs ...string) func(object) {
	return func(meta object) {
		labels := object{}
		for i := 0; i < len(pairs); i += 2 {
			labels[pairs[i]] = pairs[i+1]
		}
		meta["labels"] = labels
	}
}

func objectKey(o object) string {
	meta := o["metadata"].(object)
	namespace, _ := meta["namespace"].(string)
	return namespace + "/" + meta["name"].(string)
}

// set stores an object and tells the watches.
func (s *apiServer) set(kind string, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o = maps.Clone(o)
	meta := maps.Clone(o["metadata"].(object))
	meta["resourceVersion"] = strconv.Itoa(s.version)
	o["metadata"] = meta
	if kind == "DELETED" {
		delete(s.objects, objectKey(o))
	} else {
		s.objects[objectKey(o)] = o
	}
	s.tell(change{s.version, kind, o})
}

func (s *apiServer) bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.tell(change{s.version, "BOOKMARK", object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"resourceVersion": strconv.Itoa(s.version)}}})
}

func (s *apiServer) tell(c change) {
	s.history = append(s.history, c)
	close(s.changed)
	s.changed = make(chan struct{})
}

// forget makes every version of before too old for a watch, and ends those there
// are with that answer.
func (s *apiServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.oldest, s.history = s.version, nil
	close(s.changed)
	s.changed = make(chan struct{})
}

// restore has the server go on from a version that it had before.
func (s *apiServer) restore(version int, gone ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.oldest, s.history = version, 0, nil
	for _, key := range gone {
		delete(s.objects, key)
	}
}

func (s *apiServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// asked counts the requests so far that begin with what is given.
func (s *apiServer) asked(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func status(code int, reason, message string) object {
	return object{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
}

func reply(w http.ResponseWriter, code int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	verb := "list"
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	last := parts[len(parts)-1]
	switch {
	case r.URL.Path == "/version" || r.URL.Path == "/readyz":
		verb = "probe"
	case q.Get("watch") != "":
		verb = "watch"
	case strings.Contains(r.URL.Path, "/namespaces/") && len(parts) > 5 || !strings.HasSuffix(last, "s"):
		verb = "get"
	}
	s.mu.Lock()
	s.requests = append(s.requests, verb+" "+r.URL.Path+"?"+r.URL.RawQuery)
	code := s.refuse[verb]
	plain, dead := s.plain, s.dead
	s.mu.Unlock()
	switch {
	case dead:
		<-r.Context().Done()
		return
	case code == http.StatusForbidden:
		reply(w, code, status(code, "Forbidden", fmt.Sprintf("pods is forbidden: User \"eve\" cannot %s resource \"pods\"", verb)))
		return
	case code != 0:
		reply(w, code, status(code, "", "no"))
		return
	case plain && q.Get("sendInitialEvents") != "":
		reply(w, 422, status(422, "Invalid", "sendInitialEvents is forbidden"))
		return
	}
	partial := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	_, current := s.all()
	if from, _ := strconv.Atoi(q.Get("resourceVersion")); from > current && (verb == "list" || q.Get("sendInitialEvents") != "") {
		answer := status(504, "Timeout", fmt.Sprintf("Too large resource version: %d, current: %d", from, current))
		answer["details"] = object{"causes": []object{{"reason": "ResourceVersionTooLarge"}}}
		reply(w, 504, answer)
		return
	}
	switch verb {
	case "probe":
		reply(w, 200, object{"gitVersion": "v1.37.1"})
	case "get":
		s.mu.Lock()
		namespace := ""
		if i := slices.Index(parts, "namespaces"); i >= 0 && i+3 < len(parts) {
			namespace = parts[i+1]
		}
		o := s.objects[namespace+"/"+last]
		s.mu.Unlock()
		if o == nil {
			reply(w, 404, status(404, "NotFound", "not found"))
			return
		}
		reply(w, 200, shaped(o, partial))
	case "list":
		s.list(w, r, partial)
	case "watch":
		s.watch(w, r, partial)
	}
}

func shaped(o object, partial bool) object {
	if !partial {
		return o
	}
	return object{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o["metadata"]}
}

// all gives the objects of a request, sorted, and the version.
func (s *apiServer) all() ([]object, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []object
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		all = append(all, s.objects[key])
	}
	return all, s.version
}

func (s *apiServer) list(w http.ResponseWriter, r *http.Request, partial bool) {
	all, version := s.all()
	meta := object{"resourceVersion": strconv.Itoa(version)}
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && r.URL.Query().Get("resourceVersion") != "0" {
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		to := min(len(all), from+limit)
		if to < len(all) {
			meta["continue"], meta["remainingItemCount"] = strconv.Itoa(to), len(all)-to
		}
		all = all[from:to]
	}
	items := []object{}
	for _, o := range all {
		items = append(items, shaped(o, partial))
	}
	kind, group := "PodList", "v1"
	if len(all) > 0 {
		kind, group = all[0]["kind"].(string)+"List", all[0]["apiVersion"].(string)
	}
	if partial {
		kind, group = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	reply(w, 200, object{"apiVersion": group, "kind": kind, "metadata": meta, "items": items})
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, partial bool) {
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	send := func(kind string, o object) { _ = out.Encode(object{"type": kind, "object": o}) }
	flush := w.(http.Flusher).Flush
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if r.URL.Query().Get("sendInitialEvents") != "" {
		all, version := s.all()
		for _, o := range all {
			send("ADDED", shaped(o, partial))
		}
		flush()
		s.mu.Lock()
		hold := s.hold
		s.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		o := pod("", "")
		o["metadata"] = object{"resourceVersion": strconv.Itoa(version), "annotations": object{"k8s.io/initial-events-end": "true"}}
		if len(all) > 0 {
			o["kind"], o["apiVersion"] = all[0]["kind"], all[0]["apiVersion"]
		}
		send("BOOKMARK", shaped(o, partial))
		from = version
	}
	flush()
	for {
		s.mu.Lock()
		var news []change
		for _, c := range s.history {
			if c.version > from || s.frank && c.kind == "BOOKMARK" {
				news = append(news, c)
			}
		}
		expired, changed, version := from < s.oldest, s.changed, s.version
		s.mu.Unlock()
		if expired {
			send("ERROR", status(410, "Expired", "too old resource version"))
			return
		}
		for _, c := range news {
			send(c.kind, shaped(c.object, partial))
		}
		from = max(from, version)
		flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
