package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubernetes/pkg/controller"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A scenario is a state of a cluster in which loops have something to write, made
// while no loop runs. It lives in a namespace of its name, by which its writes are
// told from those of others; what is elsewhere has a name that begins with "$NS-x-".
type scenario struct {
	name string
	// objects are YAML documents, created in order. $NS is the namespace,
	// $UID(Kind/name) the UID of an earlier object, $AGO(1h) and $IN(1h) are times.
	// A status is written after the object; so is "approval", a status of a
	// certificate signing request. "then: delete" deletes it at once. The document
	// {delete: Kind/name, policy: P} deletes an earlier one, {patch: Kind/name,
	// status: S} changes its status. $HASH(Deployment/name) is the hash that the
	// Deployment's loop will name a ReplicaSet by.
	objects string
	// wants are the writes that a loop must have tried and had answered, as
	// "controller verb resource": the scenario proves nothing without. Each
	// belongs to the scenario by its namespace or name, but for those that begin
	// with "~", whose object has a name of its own.
	wants []string
	// quick ones run in the default tests.
	quick bool
	// gone are prefixes of keys of etcd that go when the scenario appears to
	// controllers that run.
	gone []string
}

// seeder creates scenarios for real.
type seeder struct {
	objects dynamic.Interface
	mapper  meta.RESTMapper
	client  kubernetes.Interface

	mu sync.Mutex
	// made are the objects of each scenario.
	made map[string][]*unstructured.Unstructured
	// postpones, if set, says of a scenario that its deletions are not carried out but
	// kept in postponed.
	postpones func(scenario string) bool
	postponed map[string][]deletion
}

// deletion is a document {delete: Kind/name, policy: P}.
type deletion struct {
	made
	policy metav1.DeletionPropagation
}

func (d deletion) carryOut(ctx context.Context) error {
	return d.client.Delete(ctx, d.object.GetName(), metav1.DeleteOptions{PropagationPolicy: &d.policy})
}

func (p *proof) seeder(t *testing.T) *seeder {
	t.Helper()
	config := p.Config(t)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	return &seeder{objects: objects, mapper: mapper, client: client, made: map[string][]*unstructured.Unstructured{}, postponed: map[string][]deletion{}}
}

// seedAll creates scenarios side by side.
func (s *seeder) seedAll(ctx context.Context, scenarios []scenario) error {
	var all errgroup.Group
	all.SetLimit(16)
	errs := make([]error, len(scenarios))
	for i, sc := range scenarios {
		all.Go(func() error {
			if err := s.seed(ctx, sc); err != nil {
				errs[i] = fmt.Errorf("scenario %s: %w", sc.name, err)
			}
			return nil
		})
	}
	_ = all.Wait()
	return errors.Join(errs...)
}

var placeholder = regexp.MustCompile(`\$(UID|AGO|IN|HASH)\(([^)]*)\)`)

func (s *seeder) seed(ctx context.Context, sc scenario) error {
	_, err := s.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Create(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": sc.name}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.made[sc.name] = nil
	s.mu.Unlock()
	uids := map[string]string{}
	earlier := map[string]made{}
	for _, document := range strings.Split(sc.objects, "\n---\n") {
		var unknown error
		document = strings.ReplaceAll(document, "$NS", sc.name)
		document = placeholder.ReplaceAllStringFunc(document, func(s string) string {
			m := placeholder.FindStringSubmatch(s)
			if m[1] == "UID" || m[1] == "HASH" {
				if uids[s] == "" {
					unknown = fmt.Errorf("%s comes too early", s)
				}
				return uids[s]
			}
			d, err := time.ParseDuration(m[2])
			if err != nil {
				unknown = err
			}
			if m[1] == "AGO" {
				d = -d
			}
			return `"` + time.Now().Add(d).UTC().Format(time.RFC3339) + `"`
		})
		if unknown != nil {
			return unknown
		}
		if strings.TrimSpace(document) == "" {
			continue
		}
		var content map[string]any
		if err := yaml.Unmarshal([]byte(document), &content); err != nil {
			return fmt.Errorf("%w in\n%s", err, document)
		}
		created, err := s.write(ctx, sc.name, content, earlier)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, document)
		}
		key := created.object.GetKind() + "/" + created.object.GetName()
		earlier[key] = created
		s.mu.Lock()
		s.made[sc.name] = append(s.made[sc.name], created.object)
		s.mu.Unlock()
		uids["$UID("+key+")"] = string(created.object.GetUID())
		if created.object.GetKind() == "Deployment" {
			var d appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(created.object.Object, &d); err != nil {
				return err
			}
			uids["$HASH("+key+")"] = controller.ComputeHash(&d.Spec.Template, d.Status.CollisionCount)
		}
	}
	return nil
}

// made is an object and the way to it.
type made struct {
	object   *unstructured.Unstructured
	resource schema.GroupVersionResource
	client   dynamic.ResourceInterface
}

// write carries out one document.
func (s *seeder) write(ctx context.Context, namespace string, content map[string]any, earlier map[string]made) (made, error) {
	if name, ok := content["delete"].(string); ok {
		d := deletion{earlier[name], metav1.DeletionPropagation(content["policy"].(string))}
		if s.postpones != nil && s.postpones(namespace) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.postponed[namespace] = append(s.postponed[namespace], d)
			return d.made, nil
		}
		return d.made, d.carryOut(ctx)
	}
	if name, ok := content["patch"].(string); ok {
		m := earlier[name]
		patch, err := json.Marshal(map[string]any{"status": content["status"]})
		if err != nil {
			return m, err
		}
		_, err = m.client.Patch(ctx, m.object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return m, err
	}
	return s.create(ctx, namespace, content)
}

// create writes an object in all its parts.
func (s *seeder) create(ctx context.Context, namespace string, content map[string]any) (made, error) {
	status, approval, then := content["status"], content["approval"], content["then"]
	delete(content, "status")
	delete(content, "approval")
	delete(content, "then")
	wanted := &unstructured.Unstructured{Object: content}
	gvk := wanted.GroupVersionKind()
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return made{}, err
	}
	var client dynamic.ResourceInterface = s.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if ns := wanted.GetNamespace(); ns != "" {
			namespace = ns
		}
		client = s.objects.Resource(mapping.Resource).Namespace(namespace)
	}
	o, err := client.Create(ctx, wanted, metav1.CreateOptions{})
	if err != nil {
		return made{}, err
	}
	for _, more := range []struct {
		status      any
		subresource string
	}{{approval, "approval"}, {status, "status"}} {
		if more.status == nil {
			continue
		}
		o.Object["status"] = more.status
		if o, err = client.Update(ctx, o, metav1.UpdateOptions{}, more.subresource); err != nil {
			return made{}, err
		}
	}
	if o.GetKind() == "CustomResourceDefinition" {
		if err := s.awaitServed(ctx, o); err != nil {
			return made{}, err
		}
	}
	if then == "delete" {
		err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	return made{o, mapping.Resource, client}, err
}

// awaitServed returns when the API server has written all that it writes about a
// new CRD: its conditions, and an APIService.
func (s *seeder) awaitServed(ctx context.Context, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	has := func(resource schema.GroupVersionResource, name, condition string) bool {
		o, err := s.objects.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, _ := c.(map[string]any)
			return m["type"] == condition && m["status"] == "True"
		})
	}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		if meta.MaybeResetRESTMapper(s.mapper); !has(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, crd.GetName(), "Established") {
			return false, nil
		}
		if _, err := s.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: "Widget"}); err != nil {
			return false, nil
		}
		return has(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}, "v1."+group, "Available"), nil
	})
}

// attempts count what the loops tried to write, by scenario, and know which of the
// wanted writes are missing.
type attempts struct {
	mu        sync.Mutex
	scenarios []scenario
	missing   map[string]bool // "scenario: want"
	tried     map[string]int  // by scenario
	results   map[state.WriteResult]int
	all       int
	loops     map[string]bool
	running   []string
	// last are the last answers to writes that were wanted and failed.
	last map[string]string
	// what is all that was tried, by scenario.
	what map[string]map[string]int
}

func newAttempts(scenarios []scenario) *attempts {
	a := &attempts{
		scenarios: scenarios, missing: map[string]bool{}, tried: map[string]int{}, results: map[state.WriteResult]int{},
		loops: map[string]bool{}, last: map[string]string{}, what: map[string]map[string]int{},
	}
	for _, sc := range scenarios {
		for _, want := range sc.wants {
			a.missing[sc.name+": "+want] = true
		}
		a.what[sc.name] = map[string]int{}
	}
	return a
}

// add counts a write. answered says whether its result is one that the test
// takes for an answer.
func (a *attempts) add(w state.WriteFinished, answered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all++
	a.results[w.Result]++
	a.loops[w.Controller] = true
	resource := w.Object.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	what := strings.Join([]string{w.Controller, w.Verb, resource}, " ")
	for _, sc := range a.scenarios {
		key := sc.name + ": " + what
		if !sc.has(w.Object) {
			key = sc.name + ": ~" + what
			if !a.missing[key] {
				continue
			}
		}
		a.tried[sc.name]++
		a.what[sc.name][what+" "+string(w.Result)]++
		if answered {
			delete(a.missing, key)
		} else if a.missing[key] {
			a.last[key] = state.Describe(w)
		}
	}
}

// has reports whether an object belongs to the scenario.
func (sc scenario) has(o state.Ref) bool {
	return o.Namespace == sc.name || strings.HasPrefix(o.Namespace, sc.name+"-x-") || o.Namespace == "" && (o.Name == sc.name || strings.HasPrefix(o.Name, sc.name+"-x-"))
}

func (a *attempts) complete() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.missing) == 0
}

// wanting lists what is missing still.
func (a *attempts) wanting() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for key := range a.missing {
		if said := a.last[key]; said != "" {
			key += " (tried: " + said + ")"
		}
		name, _, _ := strings.Cut(key, ":")
		key += fmt.Sprintf(" (all that was tried: %v)", a.what[name])
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// summary is a line of figures.
func (a *attempts) summary() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	least := -1
	for _, sc := range a.scenarios {
		if n := a.tried[sc.name]; least < 0 || n < least {
			least = n
		}
	}
	return fmt.Sprintf("%d scenarios; %d of %d loops tried %d writes, at least %d in each scenario: %d answered as dry runs, %d refused by the guard, %d failed at the server",
		len(a.scenarios), len(a.loops), len(a.running), a.all, least, a.results[state.WriteDry], a.results[state.WriteRefused], a.results[state.WriteFailed])
}

// idle lists the loops that ran and tried nothing.
func (a *attempts) idle() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.running), func(loop string) bool { return a.loops[loop] })
}

// scenarios are all of them. These loops have none: the cleaners of certificate
// requests and of pod certificate requests look at their start, mostly before their
// informers hold anything, and then every hour or less often; the cleaner of legacy
// tokens waits for a year; selinux-warning writes no more than events, for pods that
// run. Three more are behind feature gates that are off.
func scenarios() []scenario {
	return slices.Concat(
		deploymentScenarios(), groupScenarios(), daemonScenarios(), statefulScenarios(), jobScenarios(), cronJobScenarios(),
		garbageScenarios(), namespaceScenarios(), quotaScenarios(), podScenarios(), accountScenarios(), serviceScenarios(),
		nodeScenarios(), volumeScenarios(), scalingScenarios(), certificateScenarios(), resourceScenarios(), otherScenarios(),
	)
}
