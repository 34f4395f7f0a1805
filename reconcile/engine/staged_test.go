package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/restmapper"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/internal/twin"
)

// staged are scenarios as etcd stores them, made by an API server without
// controllers. Put into the etcd of another sandbox, in a transaction each, they
// appear there whole and at once, as new objects, with the same UIDs every time: so
// controllers that wait in Get are added keys by watch events, and no half-made
// scenario is seen.
type staged struct {
	scenarios []scenario
	// common belongs to no scenario alone: addresses of Services. It comes first.
	common []clientv3.Op
	of     map[string][]clientv3.Op
	// late are quotas and PodDisruptionBudgets: what is created beside a quota is
	// counted by admission, which nothing passes here, and a budget whose evicted pods
	// are not there forgets them.
	late map[string][]clientv3.Op
	// deletions of owners come last: the garbage collector has to have seen their
	// dependents.
	deletions map[string][]deletion
	known     []twin.Known
}

func stage(t *testing.T, scenarios []scenario) *staged {
	t.Helper()
	p := newProofOf(t, nil, nil)
	before := p.Revisions(t)
	seeder := p.seeder(t)
	seeder.postpones = func(scenario string) bool { return strings.HasPrefix(scenario, "gc-") }
	if err := seeder.seedAll(t.Context(), scenarios); err != nil {
		t.Fatal(err)
	}
	got, err := p.Etcd.Get(t.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	st := &staged{scenarios: scenarios, of: map[string][]clientv3.Op{}, late: map[string][]clientv3.Op{}}
	for _, sc := range scenarios {
		for _, prefix := range sc.gone {
			st.of[sc.name] = append(st.of[sc.name], clientv3.OpDelete(prefix, clientv3.WithPrefix()))
		}
	}
	for _, kv := range got.Kvs {
		key, value := string(kv.Key), string(kv.Value)
		if _, old := before[key]; old || passedBy(key) {
			continue
		}
		put := clientv3.OpPut(key, value)
		switch name := seeder.scenarioOf(key, value); {
		case name == "":
			st.common = append(st.common, put)
		case strings.HasPrefix(key, "/registry/resourcequotas/"), strings.HasPrefix(key, "/registry/poddisruptionbudgets/"):
			st.late[name] = append(st.late[name], put)
		default:
			st.of[name] = append(st.of[name], put)
		}
	}
	st.deletions = seeder.postponed
	for _, sc := range scenarios {
		for _, o := range seeder.made[sc.name] {
			st.known = append(st.known, seeder.known(t, o))
		}
	}
	return st
}

// passedBy are keys that each API server writes by itself.
func passedBy(key string) bool {
	own := slices.Concat(testbed.OwnKeys, []string{"/registry/events/", "/registry/apiregistration.k8s.io/"})
	return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// scenarioOf finds whose object a value of etcd is: by its namespace, or by the UID
// that is in it.
func (s *seeder) scenarioOf(key, value string) string {
	if name, ok := strings.CutPrefix(key, "/registry/namespaces/"); ok {
		if _, scenario := s.made[name]; scenario {
			return name
		}
	}
	namespace := path.Base(path.Dir(key))
	for name, objects := range s.made {
		if namespace == name {
			return name
		}
		for _, o := range objects {
			if strings.Contains(value, string(o.GetUID())) {
				return name
			}
		}
	}
	return ""
}

func (s *seeder) known(t *testing.T, o *unstructured.Unstructured) twin.Known {
	t.Helper()
	mapping, err := s.mapper.(*restmapper.DeferredDiscoveryRESTMapper).RESTMapping(o.GroupVersionKind().GroupKind())
	if err != nil {
		t.Fatal(err)
	}
	k := twin.Known{Resource: mapping.Resource.Resource, Namespace: o.GetNamespace(), Name: o.GetName()}
	if owner := metav1.GetControllerOf(o); owner != nil {
		k.Controller = owner.Kind + "/" + owner.Name
	}
	return k
}

// inject puts scenarios into an etcd: all but what is late.
func (st *staged) inject(ctx context.Context, etcd *clientv3.Client, scenarios []scenario) error {
	for _, put := range st.common {
		if _, err := etcd.Do(ctx, put); err != nil {
			return fmt.Errorf("inject what is common: %w", err)
		}
	}
	return put(ctx, etcd, scenarios, st.of)
}

// injectLate has the rest follow, when what is there is known everywhere.
func (st *staged) injectLate(ctx context.Context, l *live, seeder *seeder) error {
	if err := put(ctx, l.Etcd, l.scenarios, st.late); err != nil {
		return err
	}
	for _, sc := range l.scenarios {
		for _, d := range st.deletions[sc.name] {
			d.client = seeder.objects.Resource(d.resource).Namespace(d.object.GetNamespace())
			if err := d.carryOut(ctx); err != nil {
				return fmt.Errorf("scenario %s: %w", sc.name, err)
			}
		}
	}
	return nil
}

func put(ctx context.Context, etcd *clientv3.Client, scenarios []scenario, of map[string][]clientv3.Op) error {
	for _, sc := range scenarios {
		if len(of[sc.name]) == 0 {
			continue
		}
		if _, err := etcd.Txn(ctx).Then(of[sc.name]...).Commit(); err != nil {
			return fmt.Errorf("inject %s: %w", sc.name, err)
		}
	}
	return nil
}

// scenarioNamed finds the scenario of an object by its namespace and name; see
// scenario.has.
func (st *staged) scenarioNamed(namespace, name string) string {
	at := namespace
	if at == "" {
		at = name
	}
	of, _, _ := strings.Cut(at, "-x-")
	if _, ok := st.of[of]; ok {
		return of
	}
	return ""
}

// actsHere reports whether a controller would act on files or processes of the
// machine that it runs on because of these objects: upstream's binary has the volume
// plugins that this program leaves out.
func actsHere(sc scenario) bool {
	return slices.ContainsFunc([]string{"hostPath:", "nfs:", "flexVolume:", "iscsi:", "fc:", "local:"}, func(source string) bool { return strings.Contains(sc.objects, source) })
}
