package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// collected is a sandbox with nothing but the garbage collector in it.
type collected struct {
	*testing.T
	*engine.Engine
	client kubernetes.Interface
}

func newCollected(t *testing.T) *collected {
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse([]string{"--controllers=garbage-collector-controller"}); err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, engine.Spec{
		Controllers: options, Horizon: 300 * time.Millisecond,
		Sandbox: &engine.Sandbox{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := &collected{T: t, Engine: s}
	if c.client, err = kubernetes.NewForConfig(s.Config()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *collected) rest() {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	if _, err := c.WaitSettled(ctx, 0); err != nil {
		c.Fatal(err)
	}
}

const holding = "test.example/hold"

// fill makes ConfigMaps with any references to each other, to one in another
// namespace, and to nothing. Every one that has owners has a real one, or the
// collector would delete it at once. Those that would own themselves and block
// are left out: no foreground deletion ends there. For a foreground deletion, all
// references block, and there are no circles: otherwise what happens is a race
// between the collector's workers.
func (c *collected) fill(namespace string, foreground bool, random *rand.Rand, far *corev1.ConfigMap) {
	c.Helper()
	_, err := c.client.CoreV1().Namespaces().Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	maps := c.client.CoreV1().ConfigMaps(namespace)
	var made []*corev1.ConfigMap
	reference := func(to *corev1.ConfigMap) metav1.OwnerReference {
		blocks := random.IntN(2) == 0 || foreground
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: to.Name, UID: to.UID, BlockOwnerDeletion: &blocks}
	}
	for i := range 4 + random.IntN(8) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%02d", i)}}
		for _, j := range random.Perm(i)[:min(i, random.IntN(3))] {
			m.OwnerReferences = append(m.OwnerReferences, reference(made[j]))
		}
		if len(m.OwnerReferences) > 0 {
			switch random.IntN(6) {
			case 0:
				m.OwnerReferences = append(m.OwnerReferences, reference(far))
			case 1:
				m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: types.UID("gone-" + m.Name)})
			}
		}
		if random.IntN(5) == 0 {
			m.Finalizers = []string{holding}
		}
		if m, err = maps.Create(c.Context(), m, metav1.CreateOptions{}); err != nil {
			c.Fatal(err)
		}
		made = append(made, m)
	}
	// Circles: an earlier one gets a later one as owner.
	if len(made) > 5 && random.IntN(2) == 0 && !foreground {
		c.rest() // the collector takes references to nothing off
		from, to := c.list(namespace)[made[random.IntN(2)].Name], made[3+random.IntN(2)]
		from.OwnerReferences = append(from.OwnerReferences, reference(to))
		if _, err := maps.Update(c.Context(), from, metav1.UpdateOptions{}); err != nil {
			c.Fatal(err)
		}
	}
}

func (c *collected) list(namespace string) map[string]*corev1.ConfigMap {
	c.Helper()
	list, err := c.client.CoreV1().ConfigMaps(namespace).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	found := map[string]*corev1.ConfigMap{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	return found
}

// letGo takes the finalizers off what is being deleted.
func (c *collected) letGo(namespace string) {
	c.Helper()
	for _, m := range c.list(namespace) {
		if m.DeletionTimestamp == nil || !slices.Contains(m.Finalizers, holding) {
			continue
		}
		m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == holding })
		_, err := c.client.CoreV1().ConfigMaps(namespace).Update(c.Context(), m, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) { // then the collector was quicker
			c.Fatal(err)
		}
	}
}

// TestCascadeIsWhatGCDoes foretells deletions in arbitrary owner graphs, makes
// them, and lets the real garbage collector react: it must leave what was
// foretold, with the finalizers on and after they are taken off.
func TestCascadeIsWhatGCDoes(t *testing.T) {
	testbed.WithControllers(t)
	c := newCollected(t)
	far, err := c.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "far"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	propagation := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	fates := map[document.CascadeFate]int{}
	for i := range 45 {
		namespace, policy := fmt.Sprintf("graph-%02d", i), propagation[i%len(propagation)]
		c.fill(namespace, policy == metav1.DeletePropagationForeground, rand.New(rand.NewPCG(7, uint64(i/len(propagation)))), far)
		c.rest()
		cascade := c.foretell(namespace, policy)
		before := c.list(namespace)
		if err := c.client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "m00", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
		c.rest()
		now, later := maps.Clone(before), maps.Clone(before)
		for _, o := range cascade.Objects {
			fates[o.Fate]++
			if o.Fate == document.FateDeleted {
				delete(now, o.Object.Name)
			}
			if o.Step > 0 {
				delete(later, o.Object.Name)
			}
		}
		c.compare(cascade, before, now, "after the deletion", func() {})
		c.compare(cascade, before, later, "after the finalizers are gone", func() { c.letGo(namespace) })
	}
	for _, fate := range []document.CascadeFate{document.FateDeleted, document.FateHeld, document.FateBehind, document.FateSurvives, document.FateOrphaned} {
		if fates[fate] == 0 {
			t.Errorf("no graph had something that is %s: the test does not try it", fate)
		}
	}
}

func (c *collected) foretell(namespace string, policy metav1.DeletionPropagation) document.Cascade {
	c.Helper()
	reader, err := owners.NewReader(c.Config(), owners.Options{})
	if err != nil {
		c.Fatal(err)
	}
	graph, err := reader.Scan(c.Context(), owners.Scope{Namespaces: []string{namespace}})
	if err != nil {
		c.Fatal(err)
	}
	if gaps := reader.Gaps(); len(gaps) > 0 {
		c.Fatalf("gaps: %v", gaps)
	}
	return graph.Cascade([]*owners.Object{graph.Find("", "configmaps", namespace, "m00")}, document.CascadePolicy(policy))
}

// compare waits until there is what was foretold, with help now and then, and
// until the collector is at rest after that: it must not take more either.
func (c *collected) compare(cascade document.Cascade, before, want map[string]*corev1.ConfigMap, when string, help func()) {
	c.Helper()
	namespace := cascade.Targets[0].Namespace
	names := slices.Sorted(maps.Keys(want))
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		help()
		c.rest()
		if slices.Equal(slices.Sorted(maps.Keys(c.list(namespace))), names) {
			break
		}
	}
	c.rest()
	got := slices.Sorted(maps.Keys(c.list(namespace)))
	if slices.Equal(got, names) {
		return
	}
	c.Errorf("%s, %s, %s: there is %v, foretold %v", namespace, cascade.Policy, when, got, names)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		text := name
		for _, ref := range before[name].OwnerReferences {
			text += fmt.Sprintf(" <- %s(%v)", ref.Name, ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion)
		}
		c.Log(text, before[name].Finalizers)
	}
	for _, o := range cascade.Objects {
		c.Log(o.Step, o.Fate, o.Object.Name, o.Why)
	}
}
