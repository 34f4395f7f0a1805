package diagnosis

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A fault is a cluster in which one thing is wrong, a question about it, and the
// true cause. testdata/faults/README.md describes the files.
type fault struct {
	Name string `json:"name"`
	// Source says where the fault is from.
	Source string   `json:"source"`
	World  []string `json:"world"`
	change
	// Ask is the object in question, TYPE/NAME.
	Ask string `json:"ask"`
	// Cause is the true cause's name, Says what the first finding must mention.
	Cause string   `json:"cause"`
	Says  []string `json:"says"`
	// Also are other causes that are true in this world.
	Also       []string    `json:"also"`
	Lookalikes []lookalike `json:"lookalikes"`

	file string
}

// A lookalike is the world of a fault with something else in it, so that the
// fault's cause is not proven any more, or is another one.
type lookalike struct {
	Name string `json:"name"`
	change
	Ask string `json:"ask"`
	// Cause is what comes first then; empty where nothing needs to.
	Cause string `json:"cause"`
	// Also are the causes that may be certain, beside Cause. The fault's own cause
	// never is, unless it is named here or in Cause.
	Also []string `json:"also"`
}

// change is what is done to the objects of a world.
type change struct {
	// Add are whole objects, Remove their names, Set merge patches by name.
	Add    []map[string]any          `json:"add"`
	Remove []string                  `json:"remove"`
	Set    map[string]map[string]any `json:"set"`
	// Pods are changed by what has happened to them.
	Pods map[string]podState `json:"pods"`
	// Events are [TYPE/NAME, reason, message] or [..., count].
	Events [][]any `json:"events"`
	// Forbidden are types that may not be read.
	Forbidden []string `json:"forbidden"`
}

// podState gives a pod the status that the scheduler and the kubelet write in a
// situation (k8s.io/kubernetes v1.37.1 pkg/kubelet/status/generate.go,
// pkg/scheduler/schedule_one.go).
type podState struct {
	Shape   string `json:"shape"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Containers and Init are container statuses by name, in part.
	Containers map[string]map[string]any `json:"containers"`
	Init       map[string]map[string]any `json:"init"`
	// Spec, Container (the first one) and Metadata are merge patches.
	Spec      map[string]any `json:"spec"`
	Container map[string]any `json:"container"`
	Metadata  map[string]any `json:"metadata"`
}

// world is what a cluster has: objects by "resource namespace/name".
type world struct {
	t         *testing.T
	objects   map[string]map[string]any
	order     []string
	forbidden map[string]bool
	events    int
}

func loadFaults(t *testing.T) []fault {
	t.Helper()
	files, err := filepath.Glob("testdata/faults/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no faults: %v", err)
	}
	var all []fault
	names := map[string]bool{}
	for _, file := range files {
		var list []fault
		readYAML(t, file, &list)
		for _, f := range list {
			if names[f.Name] || f.Name == "" || f.Source == "" || f.Ask == "" || f.Cause == "" {
				t.Fatalf("%s: %q is there twice, or lacks its name, source, question or cause", file, f.Name)
			}
			names[f.Name] = true
			f.file = filepath.Base(file)
			all = append(all, f)
		}
	}
	return all
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// build makes the world of a fault; changes are made one after the other.
func build(t *testing.T, bases []string, changes ...change) *world {
	t.Helper()
	w := &world{t: t, objects: map[string]map[string]any{}, forbidden: map[string]bool{}}
	for _, base := range slices.Concat([]string{"cluster"}, bases) {
		var list []map[string]any
		readYAML(t, filepath.Join("testdata/faults/base", base+".yaml"), &list)
		for _, o := range list {
			w.add(o)
		}
	}
	for _, c := range changes {
		w.apply(c)
	}
	return w
}

func (w *world) apply(c change) {
	w.t.Helper()
	for _, o := range c.Add {
		w.add(o)
	}
	for _, name := range c.Remove {
		delete(w.objects, w.key(name))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		merge(w.object(name), c.Set[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Pods)) {
		w.pod(w.object("pod/"+name), c.Pods[name])
	}
	for _, e := range c.Events {
		w.event(e)
	}
	for _, t := range c.Forbidden {
		w.forbidden[t] = true
	}
}

var shortNames = map[string]string{
	"namespaces": "ns", "persistentvolumeclaims": "pvc", "persistentvolumes": "pv", "horizontalpodautoscalers": "hpa",
	"poddisruptionbudgets": "pdb", "customresourcedefinitions": "crd",
}

// kindOf finds a type by "pod", "pods" or a kind.
func kindOf(t *testing.T, name string) servedType {
	t.Helper()
	for _, s := range servedTypes() {
		if name == s.resource || name == strings.ToLower(s.kind) || name == s.kind || name == shortNames[s.resource] {
			return s
		}
	}
	t.Fatalf("no type %s", name)
	return servedType{}
}

func (w *world) key(name string) string {
	w.t.Helper()
	typ, rest, _ := strings.Cut(name, "/")
	s := kindOf(w.t, typ)
	if s.namespaced && !strings.Contains(rest, "/") {
		rest = "shop/" + rest
	}
	if !s.namespaced {
		rest = "/" + rest
	}
	key := s.resource + " " + rest
	return key
}

func (w *world) object(name string) map[string]any {
	w.t.Helper()
	o := w.objects[w.key(name)]
	if o == nil {
		w.t.Fatalf("no object %s", name)
	}
	return o
}

func (w *world) add(o map[string]any) {
	w.t.Helper()
	u := unstructured.Unstructured{Object: o}
	s := kindOf(w.t, u.GetKind())
	if s.namespaced && u.GetNamespace() == "" {
		u.SetNamespace("shop")
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(s.groupVersion)
	}
	meta := o["metadata"].(map[string]any)
	if meta["uid"] == nil {
		meta["uid"] = s.resource + "-" + u.GetName()
	}
	if meta["creationTimestamp"] == nil {
		meta["creationTimestamp"] = "2026-03-01T09:00:00Z"
	}
	// An owner is named as KIND/NAME; its uid is the one made above.
	if owner, is := meta["owner"].(string); is {
		delete(meta, "owner")
		kind, name, _ := strings.Cut(owner, "/")
		of := kindOf(w.t, kind)
		meta["ownerReferences"] = []any{map[string]any{
			"apiVersion": of.groupVersion, "kind": of.kind, "name": name, "uid": of.resource + "-" + name, "controller": true, "blockOwnerDeletion": true,
		}}
	}
	key := s.resource + " " + u.GetNamespace() + "/" + u.GetName()
	if w.objects[key] == nil {
		w.order = append(w.order, key)
	}
	w.objects[key] = o
}

// merge is a JSON merge patch in place.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		have, hasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && hasMap:
			merge(have, inner)
		case isMap:
			fresh := map[string]any{}
			merge(fresh, inner)
			into[key] = fresh
		default:
			into[key] = value
		}
	}
}

func (w *world) event(e []any) {
	w.t.Helper()
	name := e[0].(string)
	about := unstructured.Unstructured{Object: w.object(name)}
	count := 1
	if len(e) > 3 {
		count = int(e[3].(float64))
	}
	w.events++
	s := kindOf(w.t, about.GetKind())
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	w.add(map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"name": fmt.Sprintf("%s.%d", about.GetName(), w.events), "namespace": namespace},
		"involvedObject": map[string]any{
			"apiVersion": s.groupVersion, "kind": s.kind, "namespace": about.GetNamespace(), "name": about.GetName(), "uid": string(about.GetUID()),
		},
		"type": "Warning", "reason": e[1], "message": e[2], "count": count,
		"firstTimestamp": "2026-03-01T11:50:00Z", "lastTimestamp": "2026-03-01T11:59:30Z",
	})
}

// shape is the phase of a pod and its conditions, as TYPE=STATUS or
// TYPE=STATUS REASON.
type shape struct {
	phase      string
	conditions []string
	unbound    bool
}

const notReadyContainers = "ContainersNotReady: containers with unready status: [%s]"

var shapes = map[string]shape{
	"ready":        {phase: "Running", conditions: []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True", "PodScheduled=True"}},
	"notready":     {phase: "Running", conditions: []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=False " + notReadyContainers, "ContainersReady=False " + notReadyContainers, "PodScheduled=True"}},
	"gateclosed":   {phase: "Running", conditions: []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=False ReadinessGatesNotReady: %m", "ContainersReady=True", "PodScheduled=True"}},
	"waiting":      {phase: "Pending", conditions: []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=False " + notReadyContainers, "ContainersReady=False " + notReadyContainers, "PodScheduled=True"}},
	"creating":     {phase: "Pending", conditions: []string{"PodReadyToStartContainers=False", "Initialized=True", "Ready=False " + notReadyContainers, "ContainersReady=False " + notReadyContainers, "PodScheduled=True"}},
	"initializing": {phase: "Pending", conditions: []string{"PodReadyToStartContainers=True", "Initialized=False ContainersNotInitialized: containers with incomplete status: [%i]", "Ready=False " + notReadyContainers, "ContainersReady=False " + notReadyContainers, "PodScheduled=True"}},
	"failed":       {phase: "Failed", conditions: []string{"PodReadyToStartContainers=False", "Initialized=True", "Ready=False PodFailed", "ContainersReady=False PodFailed", "PodScheduled=True"}},
	"rejected":     {phase: "Failed", conditions: []string{"PodScheduled=True"}},
	"evicted":      {phase: "Failed", conditions: []string{"DisruptionTarget=True TerminationByKubelet", "PodReadyToStartContainers=False", "Initialized=True", "Ready=False PodFailed", "ContainersReady=False PodFailed", "PodScheduled=True"}},
	"succeeded":    {phase: "Succeeded", conditions: []string{"PodReadyToStartContainers=False", "Initialized=True PodCompleted", "Ready=False PodCompleted", "ContainersReady=False PodCompleted", "PodScheduled=True"}},
	"unscheduled":  {phase: "Pending", conditions: []string{"PodScheduled=False Unschedulable: %m"}, unbound: true},
	"gated":        {phase: "Pending", conditions: []string{"PodScheduled=False SchedulingGated: Scheduling is blocked due to non-empty scheduling gates"}, unbound: true},
	"unseen":       {phase: "Pending", unbound: true},
	// As the node lifecycle controller leaves a pod whose node is gone.
	"lost": {phase: "Running", conditions: []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=False", "ContainersReady=True", "PodScheduled=True"}},
}

// copyOf is a deep copy: building a world changes what it is built from.
func (c change) copyOf(t *testing.T) change {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out change
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// faultNow is the time in all worlds.
var faultNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
