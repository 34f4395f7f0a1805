package testbed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// OwnKeys are what kube-apiserver writes by itself, seen without any loop.
var OwnKeys = []string{"/registry/leases/kube-system/apiserver-", "/registry/masterleases/", "/registry/peerserverleases/", "/registry/ranges/", "/registry/health", "/registry/configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking"}

// Revisions maps every key that is not the API server's own to the revision
// that wrote it last.
func (p *Proof) Revisions(t *testing.T) map[string]int64 {
	t.Helper()
	got, err := p.Etcd.Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, kv := range got.Kvs {
		key := string(kv.Key)
		if !slices.ContainsFunc(OwnKeys, func(own string) bool { return strings.HasPrefix(key, own) }) {
			out[key] = kv.ModRevision
		}
	}
	return out
}

// Changes lists the keys that differ.
func Changes(before, after map[string]int64) []string {
	var out []string
	for key, revision := range before {
		switch now, still := after[key]; {
		case !still:
			out = append(out, "deleted "+key)
		case now != revision:
			out = append(out, "changed "+key)
		}
	}
	for key := range after {
		if _, was := before[key]; !was {
			out = append(out, "created "+key)
		}
	}
	slices.Sort(out)
	return out
}

// Mutations reads from the audit log what anyone but the seed and the API server
// itself asked to change: all of it, and what of it was not a dry run.
func (p *Proof) Mutations(t *testing.T) (all, real []string) {
	t.Helper()
	file, err := os.Open(p.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(p.AuditFrom, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		seed, itself := event.UserAgent == SeedAgent, event.User.Username == "system:apiserver"
		if seed || itself || event.Stage != auditv1.StageResponseComplete || !Mutating(event) {
			continue
		}
		what := fmt.Sprintf("%s %s %s", strings.TrimPrefix(event.UserAgent, "kctl-ctrl/"), event.Verb, event.RequestURI)
		all = append(all, what)
		if !dry(t, event) {
			real = append(real, what)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all, real
}

// Mutating reports whether a request asks to change something.
func Mutating(event auditv1.Event) bool {
	switch event.Verb {
	case "get", "list", "watch":
		return false
	}
	// Questions persist nothing; the API server stores no review.
	return event.ObjectRef == nil || !strings.HasSuffix(event.ObjectRef.Resource, "reviews")
}

// dry reads an event as the API server read the request: a DELETE with a body
// goes by the body alone.
func dry(t *testing.T, event auditv1.Event) bool {
	t.Helper()
	uri, err := url.Parse(event.RequestURI)
	if err != nil {
		t.Fatal(err)
	}
	query := slices.Equal(uri.Query()["dryRun"], []string{"All"})
	if event.Verb != "delete" && event.Verb != "deletecollection" {
		return query
	}
	if event.RequestObject == nil {
		return query
	}
	var options metav1.DeleteOptions
	if err := json.Unmarshal(event.RequestObject.Raw, &options); err != nil {
		t.Fatal(err)
	}
	return slices.Equal(options.DryRun, []string{"All"})
}
