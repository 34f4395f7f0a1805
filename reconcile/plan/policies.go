package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

// The API server compiles admission policies some time after they are written, and
// their status does not show when: status.typeChecking is set by
// kube-controller-manager. So Apply writes a marker last, a policy and a binding of its
// own, and sends a matching dry run until the marker acts on it: one refresh compiles
// all policies, and informers keep the order of writes
// (k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go @v0.37.1).

const admissionGroup = "admissionregistration.k8s.io"

// policyFamily is one of the two kinds of admission policy.
type policyFamily struct {
	policy, binding    string // kinds
	policies, bindings string // resources
	mutating           bool
}

var policyFamilies = []policyFamily{
	{policy: "ValidatingAdmissionPolicy", binding: "ValidatingAdmissionPolicyBinding",
		policies: "validatingadmissionpolicies", bindings: "validatingadmissionpolicybindings"},
	{policy: "MutatingAdmissionPolicy", binding: "MutatingAdmissionPolicyBinding",
		policies: "mutatingadmissionpolicies", bindings: "mutatingadmissionpolicybindings", mutating: true},
}

// probed is the object that markers match: it exists on every API server, and policies
// for workloads do not match it.
var (
	probed     = schema.GroupVersionResource{Group: "flowcontrol.apiserver.k8s.io", Version: "v1", Resource: "prioritylevelconfigurations"}
	probedName = "exempt"
)

// parameters finds the objects that the policies of a set use as parameters.
type parameters struct {
	references []reference
}

// reference is a binding's paramRef with its policy's paramKind.
type reference struct {
	kind            schema.GroupKind
	namespace, name string
	selector        labels.Selector // nil where it names one
}

func parametersOf(requests []request) parameters {
	kinds := map[string]schema.GroupKind{}
	for _, r := range requests {
		if gvk, ok := paramKindOf(r.Object.Object); ok && isPolicy(r.GroupVersionKind()) {
			kinds[r.GetKind()+" "+r.GetName()] = gvk.GroupKind()
		}
	}
	var p parameters
	for _, r := range requests {
		policy, isBinding := strings.CutSuffix(r.GetKind(), "Binding")
		kind, known := kinds[policy+" "+fieldText(r.Object.Object, "spec", "policyName")]
		named, _, _ := unstructured.NestedMap(r.Object.Object, "spec", "paramRef")
		if !isBinding || !known || named == nil || r.GroupVersionKind().Group != admissionGroup {
			continue
		}
		ref := reference{kind: kind, namespace: fieldText(named, "namespace"), name: fieldText(named, "name")}
		if selector, ok := named["selector"].(map[string]any); ok {
			var parsed metav1.LabelSelector
			if runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &parsed) == nil {
				ref.selector, _ = metav1.LabelSelectorAsSelector(&parsed)
			}
		}
		p.references = append(p.references, ref)
	}
	return p
}

func (p parameters) has(kind schema.GroupKind, o metav1.Object) bool {
	return slices.ContainsFunc(p.references, func(ref reference) bool {
		return ref.kind == kind && (ref.namespace == "" || ref.namespace == o.GetNamespace()) &&
			(ref.name == o.GetName() || ref.selector != nil && ref.selector.Matches(labels.Set(o.GetLabels())))
	})
}

func isPolicy(gvk schema.GroupVersionKind) bool {
	return gvk.Group == admissionGroup && slices.ContainsFunc(policyFamilies, func(f policyFamily) bool { return gvk.Kind == f.policy })
}

func paramKindOf(policy map[string]any) (schema.GroupVersionKind, bool) {
	apiVersion, kind := fieldText(policy, "spec", "paramKind", "apiVersion"), fieldText(policy, "spec", "paramKind", "kind")
	return schema.FromAPIVersionAndKind(apiVersion, kind), kind != ""
}

// parametersFirst splits requests: the parameters of the set's own policies, with their
// namespaces, are applied before the policies, which reject what they match while a
// parameter is missing.
func (a *applying) parametersFirst(requests []request) (first, rest []request) {
	a.parameters = parametersOf(requests)
	namespaces := map[string]bool{}
	isParameter := func(r request) bool { return a.parameters.has(r.GroupVersionKind().GroupKind(), r.Unstructured) }
	for _, r := range requests {
		if isParameter(r) {
			namespaces[r.GetNamespace()] = true
		}
	}
	for _, r := range requests {
		if isParameter(r) || r.GroupVersionKind().GroupKind() == namespaceKind.GroupKind() && namespaces[r.GetName()] {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return first, rest
}

// policiesInForce returns when the API server uses the policies and bindings that were
// applied, and their parameters. If none was created or changed it does nothing.
func (a *applying) policiesInForce(ctx context.Context) error {
	for _, family := range policyFamilies {
		changed := a.changedOf(family)
		if len(changed) == 0 {
			continue
		}
		if err := a.familyInForce(ctx, family, changed); err != nil {
			return fmt.Errorf("wait for %s to be in force: %w", describe(changed[0].Manifest), err)
		}
	}
	return nil
}

// changedOf are the results that created or changed policies or bindings.
func (a *applying) changedOf(family policyFamily) []Result {
	var changed []Result
	for _, r := range a.applied.Results {
		gvk := r.Mapping.GroupVersionKind
		if gvk.Group == admissionGroup && (gvk.Kind == family.policy || gvk.Kind == family.binding) &&
			(r.Action == Created || r.Action == Changed) {
			changed = append(changed, r)
		}
	}
	return changed
}

func (a *applying) familyInForce(ctx context.Context, family policyFamily, changed []Result) error {
	markers := a.markersFor(family, changed)
	gv := changed[0].Mapping.GroupVersionKind.GroupVersion()
	policies, bindings := a.cluster.probes.Resource(gv.WithResource(family.policies)), a.cluster.probes.Resource(gv.WithResource(family.bindings))
	defer func() {
		ctx := context.WithoutCancel(ctx)
		for _, m := range markers {
			_ = bindings.Delete(ctx, m.name, metav1.DeleteOptions{})
			_ = policies.Delete(ctx, m.name, metav1.DeleteOptions{})
		}
	}()
	for _, m := range markers {
		if err := m.create(ctx, gv, family, policies, bindings); err != nil {
			return fmt.Errorf("create the marker %s: %w", m.name, message(err))
		}
	}
	return a.until(ctx, func(ctx context.Context) (string, error) {
		a.cluster.heard.take()
		_, err := a.cluster.probes.Resource(probed).Patch(ctx, probedName, types.MergePatchType, []byte("{}"),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager})
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		said := append(a.cluster.heard.take(), saidBy(err)...)
		for _, m := range markers {
			if reason := m.missing(said); reason != "" {
				return reason, nil
			}
		}
		return "", nil
	})
}

// saidBy are the messages of a rejection.
func saidBy(err error) []string {
	if err == nil {
		return nil
	}
	said := []string{err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			said = append(said, cause.Message)
		}
	}
	return said
}

// marker is a policy with a binding that shows that others are in force.
type marker struct {
	name string
	// kind is the paramKind, empty for none.
	kind schema.GroupVersionKind
	// namespaced: so are the objects of kind.
	namespaced bool
	// parameter is the object that the binding names, nil where none is known.
	parameter map[string]any
}

var markerNumber struct {
	sync.Mutex
	last int
}

// newMarker returns a marker with a unique name, because a deleted one acts for a
// moment longer.
func newMarker(kind schema.GroupVersionKind, parameter map[string]any) marker {
	markerNumber.Lock()
	defer markerNumber.Unlock()
	markerNumber.last++
	return marker{name: "kctl-ctrl-in-force-" + strconv.Itoa(markerNumber.last), kind: kind, parameter: parameter}
}

// maxMarkers bounds the checked parameters: a response has space for about 30 warnings.
const maxMarkers = 20

// markersFor returns one for the policies themselves, and one for every type of
// parameter, which the API server looks up in a discovery cache. A validating policy
// also reports which version of a parameter it uses.
func (a *applying) markersFor(family policyFamily, changed []Result) []marker {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, r := range changed {
		if gvk, ok := paramKindOf(r.Manifest); ok {
			kinds[gvk] = true
		}
	}
	markers := []marker{}
	for _, gvk := range slices.SortedFunc(maps.Keys(kinds), func(x, y schema.GroupVersionKind) int { return strings.Compare(x.String(), y.String()) }) {
		found := false
		for _, r := range a.applied.Results {
			if family.mutating || r.After == nil || len(markers) == maxMarkers || r.Mapping.GroupVersionKind.GroupKind() != gvk.GroupKind() {
				continue
			}
			if a.parameters.has(gvk.GroupKind(), &unstructured.Unstructured{Object: r.After}) {
				markers = append(markers, newMarker(gvk, r.After))
				found = true
			}
		}
		if !found {
			m := newMarker(gvk, nil)
			if mapping, err := a.cluster.mapping(gvk); err == nil {
				m.namespaced = mapping.Scope.Name() == meta.RESTScopeNameNamespace
			} else {
				continue // nobody serves it: its policies stay without their parameters
			}
			markers = append(markers, m)
		}
	}
	return append(markers, newMarker(schema.GroupVersionKind{}, nil)) // last: it comes after all others
}

// create writes the marker. It matches dry runs on one object, so that it affects
// nothing else.
func (m marker) create(ctx context.Context, gv schema.GroupVersion, family policyFamily, policies, bindings dynamic.ResourceInterface) error {
	spec := map[string]any{
		"failurePolicy": "Fail",
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []any{probed.Group}, "apiVersions": []any{probed.Version}, "resources": []any{probed.Resource},
			"operations": []any{"UPDATE"}, "resourceNames": []any{probedName},
		}}},
		"matchConditions": []any{map[string]any{"name": "probe", "expression": "has(request.dryRun) && request.dryRun"}},
	}
	bound := map[string]any{"policyName": m.name}
	if family.mutating {
		spec["reinvocationPolicy"] = "Never"
		spec["mutations"] = []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{
			"expression": `[JSONPatch{op: "remove", path: "/spec/` + m.name + `"}]`, // fails: there is none
		}}}
	} else {
		text := strconv.Quote(m.name)
		if m.parameter != nil {
			text += " + ' resourceVersion ' + params.metadata.resourceVersion"
		}
		spec["validations"] = []any{map[string]any{"expression": "false", "messageExpression": text}}
		bound["validationActions"] = []any{"Warn"}
	}
	if !m.kind.Empty() {
		spec["paramKind"] = map[string]any{"apiVersion": m.kind.GroupVersion().String(), "kind": m.kind.Kind}
		reference := map[string]any{"name": m.name, "parameterNotFoundAction": "Deny"}
		if m.parameter == nil && m.namespaced {
			reference["namespace"] = metav1.NamespaceSystem
		}
		if m.parameter != nil {
			u := unstructured.Unstructured{Object: m.parameter}
			reference["name"] = u.GetName()
			if u.GetNamespace() != "" {
				reference["namespace"] = u.GetNamespace()
			}
		}
		bound["paramRef"] = reference
	}
	object := func(kind string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gv.String(), "kind": kind, "metadata": map[string]any{"name": m.name}, "spec": spec,
		}}
	}
	if _, err := policies.Create(ctx, object(family.policy, spec), metav1.CreateOptions{FieldManager: FieldManager}); err != nil {
		return err
	}
	_, err := bindings.Create(ctx, object(family.binding, bound), metav1.CreateOptions{FieldManager: FieldManager})
	return err
}

// missing returns what the marker still waits for, given the API server's response to a
// matching request; empty if it acts.
func (m marker) missing(said []string) string {
	const notFound = "failed to find resource referenced by paramKind"
	for _, text := range said {
		if !strings.Contains(text, "'"+m.name+"'") && !strings.Contains(text, `"`+m.name+`"`) {
			continue
		}
		switch {
		case strings.Contains(text, notFound), strings.Contains(text, "not yet synced"), strings.Contains(text, "not known"):
			return text
		case m.parameter != nil && !strings.HasSuffix(text, " resourceVersion "+(&unstructured.Unstructured{Object: m.parameter}).GetResourceVersion()):
			return "the API server has not read the last version of the parameter " + describe(m.parameter)
		}
		return ""
	}
	if len(said) > 0 {
		return "not in force yet; the API server returned: " + said[0]
	}
	return "not in force yet"
}

// newProbes creates the client for requests whose warnings are not shown to the user.
func newProbes(config *rest.Config) (dynamic.Interface, *warnings, error) {
	config = rest.CopyConfig(config)
	heard := &warnings{seen: map[string]bool{}}
	config.WarningHandler, config.WarningHandlerWithContext = heard, nil
	client, err := dynamic.NewForConfig(config)
	return client, heard, err
}

// admissionCache checks with the sandbox's API server whether its admission plugins
// have read an object. Other servers do not report that.
func (a *applying) admissionCache(ctx context.Context, r Result) error {
	u := unstructured.Unstructured{Object: r.After}
	return a.until(ctx, func(ctx context.Context) (string, error) {
		request := a.cluster.discovery.RESTClient().Get().AbsPath(sandbox.AdmissionCachePath)
		for name, value := range map[string]string{
			"group": r.Mapping.Resource.Group, "version": r.Mapping.Resource.Version, "resource": r.Mapping.Resource.Resource,
			"namespace": u.GetNamespace(), "name": u.GetName(), "resourceVersion": u.GetResourceVersion(),
		} {
			request = request.Param(name, value)
		}
		body, err := request.Do(ctx).Raw()
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		var answer struct {
			Behind bool `json:"behind"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return "", err
		}
		if answer.Behind {
			return "admission has not read it yet", nil
		}
		return "", nil
	})
}
