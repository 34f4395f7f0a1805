package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// warnings are the problems of the end state, and the API server's warnings. Problems
// that existed before the change are marked.
func (w *world) warnings(in Input) []string {
	var texts []string
	before := w.troubles(true)
	for text := range w.troubles(false) {
		if before[text] {
			text += " (also before the change)"
		}
		texts = append(texts, text)
	}
	for _, applied := range []*Applied{in.After, in.Removed} {
		if applied == nil {
			continue
		}
		for _, warning := range applied.Warnings {
			texts = append(texts, "API server: "+w.scrub.text(warning))
		}
	}
	for _, i := range w.items {
		if i.result == nil && i.oldManifest != nil && i.kind == "Namespace" && i.end != nil {
			texts = append(texts, fmt.Sprintf("Namespace %s is no longer in the manifests, but objects in it are: it stays", i.name))
		}
	}
	return sorted(slices.Concat(texts, w.autoscaled(), w.bereft()))
}

// bereft warns about definitions that are no longer in the manifests while objects of
// their kind are: these are deleted with the definition.
func (w *world) bereft() []string {
	byType := map[string][]string{}
	for _, i := range w.items {
		if i.manifest != nil && i.result != nil && i.result.Action != Deleted {
			byType[i.typeName()] = append(byType[i.typeName()], strings.TrimPrefix(i.namespace+"/"+i.name, "/"))
		}
	}
	var texts []string
	for _, i := range w.items {
		if i.typeName() != "CustomResourceDefinition.apiextensions.k8s.io" || i.result == nil || i.result.Action != Deleted {
			continue
		}
		kind := fieldText(i.content(), "spec", "names", "kind")
		if names := byType[typeName(fieldText(i.content(), "spec", "group"), kind)]; len(names) > 0 {
			texts = append(texts, fmt.Sprintf("CustomResourceDefinition %s is no longer in the manifests, but objects of its kind are: "+
				"they are deleted with it, and cannot be applied again (%s %s)", i.name, kind, strings.Join(sorted(names), ", ")))
		}
	}
	return texts
}

func (w *world) troubles(atStart bool) map[string]bool {
	found := map[string]bool{}
	counts := map[string]int{}
	for _, i := range w.items {
		content := i.end
		if atStart {
			content = i.start
		}
		if content == nil {
			continue
		}
		if text := w.troubleOf(i, content); text != "" {
			counts[text]++
		}
	}
	for text, n := range counts {
		if n > 1 {
			text = fmt.Sprintf("%s (%d of them)", text, n)
		}
		found[text] = true
	}
	return found
}

// troubleOf describes what prevents an object from reaching its desired state, without
// anything generated; empty if nothing does.
func (w *world) troubleOf(i *item, content map[string]any) string {
	conditions := conditionsOf(content)
	object := i.kind + " " + strings.TrimPrefix(i.namespace+"/"+i.pattern, "/")
	say := func(what string, c condition) string {
		text := w.scrub.text(strings.TrimSpace(c.message))
		if text == "" {
			text = c.reason
		}
		return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", object, what, text), ": ")
	}
	switch i.typeName() {
	case "ReplicaSet.apps", "ReplicationController", "DaemonSet.apps", "StatefulSet.apps":
		if c := conditions["ReplicaFailure"]; c.status == "True" {
			return say("cannot create its pods", c)
		}
	case "Deployment.apps":
		if c := conditions["Progressing"]; c.status == "False" {
			return say("does not progress", c)
		}
		if c := conditions["Available"]; c.status == "False" {
			return say("is not available", c)
		}
	case "Pod":
		if c := conditions["PodScheduled"]; c.status == "False" {
			return say("cannot be scheduled", c)
		}
		if phase(content) == "failed" {
			return object + " failed"
		}
	case "Job.batch":
		if c := conditions["Failed"]; c.status == "True" {
			return say("failed", c)
		}
	case "PersistentVolumeClaim":
		if p := phase(content); p == "pending" || p == "lost" {
			return object + " is " + p
		}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		if c := conditions["NamesAccepted"]; c.status == "False" {
			return say("is not served", c)
		}
	case autoscalerType:
		if c := conditions["AbleToScale"]; c.status == "False" {
			return say("cannot scale", c)
		}
		// notSimulated reports custom and external metrics.
		if c := conditions["ScalingActive"]; c.status == "False" && (c.reason == "FailedGetResourceMetric" || c.reason == "FailedGetContainerResourceMetric") {
			return say("cannot compute a number of replicas", c)
		}
	case "Namespace":
		for _, name := range slices.Sorted(maps.Keys(conditions)) {
			if c := conditions[name]; strings.HasPrefix(name, "Namespace") && c.status == "True" {
				return say("cannot be deleted yet", c)
			}
		}
	}
	return ""
}

// timers are what controllers will do later, as far as the objects show. Times that
// depend on when the sandbox ran are given as durations from their start.
func (w *world) timers() []string {
	var texts []string
	for _, i := range w.items {
		if i.end == nil {
			continue
		}
		object := strings.TrimPrefix(i.namespace+"/"+i.pattern, "/")
		conditions := conditionsOf(i.end)
		switch i.typeName() {
		case "Namespace":
			if terminating(i.end) {
				texts = append(texts, fmt.Sprintf("Namespace %s is deleted after its contents", i.name))
			}
		case autoscalerType:
			if c := conditions["AbleToScale"]; c.status == "True" && (c.reason == "ScaleDownStabilized" || c.reason == "ScaleUpStabilized") {
				texts = append(texts, fmt.Sprintf("HorizontalPodAutoscaler %s scales after its stabilization window: %s", object, w.scrub.text(c.message)))
			}
			if _, limited := limitedBy(i.end); limited {
				texts = append(texts, fmt.Sprintf("HorizontalPodAutoscaler %s scales on: its policies limit how much it scales at once", object))
			}
		case "Deployment.apps":
			c := conditions["Progressing"]
			if c.status == "True" && c.reason != "NewReplicaSetAvailable" {
				texts = append(texts, fmt.Sprintf("progress deadline of Deployment %s: %s without progress", object, seconds(number(i.end, "spec", "progressDeadlineSeconds"))))
			}
		case "Job.batch":
			finished := conditions["Complete"].status == "True" || conditions["Failed"].status == "True"
			if _, set, _ := unstructured.NestedFieldNoCopy(i.end, "spec", "ttlSecondsAfterFinished"); set && finished {
				texts = append(texts, fmt.Sprintf("Job %s is deleted %s after it finished", object, seconds(number(i.end, "spec", "ttlSecondsAfterFinished"))))
			}
			if limit := number(i.end, "spec", "activeDeadlineSeconds"); limit > 0 && !finished {
				texts = append(texts, fmt.Sprintf("Job %s fails %s after it started", object, seconds(limit)))
			}
		}
	}
	return texts
}

func seconds(n int) string { return shortDuration(time.Duration(n) * time.Second) }

// shortDuration is "10m", "1h30m".
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// notSimulated lists what would act on these manifests in a real cluster and did not
// here.
func (w *world) notSimulated(in Input) []string {
	kinds := map[string][]string{}
	custom := w.customKinds()
	customSeen := map[string]bool{}
	pods := false
	for _, i := range w.items {
		if i.end == nil {
			continue
		}
		t := i.typeName()
		name := strings.TrimPrefix(i.namespace+"/"+i.name, "/")
		pods = pods || t == "Pod"
		if i.result == nil {
			continue
		}
		if t == autoscalerType && metersOthers(i.end) {
			kinds["other metrics"] = append(kinds["other metrics"], name)
		}
		switch {
		case i.result.Action == Implied && isClass[t]: // of these below
		case t == "StorageClass.storage.k8s.io" && fieldText(i.end, "provisioner") == "kubernetes.io/no-provisioner":
		case custom[t]:
			customSeen[t] = true
		case t == "Service" && fieldText(i.end, "spec", "type") == "LoadBalancer":
			kinds["LoadBalancer"] = append(kinds["LoadBalancer"], name)
		case t == "CustomResourceDefinition.apiextensions.k8s.io":
			if fieldText(i.end, "spec", "conversion", "strategy") == "Webhook" {
				kinds["conversion"] = append(kinds["conversion"], name)
			}
		case t == "CronJob.batch":
			if suspended, _, _ := unstructured.NestedBool(i.manifest, "spec", "suspend"); !suspended {
				kinds[t] = append(kinds[t], name)
			}
		default:
			kinds[t] = append(kinds[t], name)
		}
	}
	for _, applied := range []*Applied{in.Before, in.After} {
		if applied == nil {
			continue
		}
		for _, r := range applied.Results {
			id := identityOf(r.object())
			if key := "implied " + id.kind; r.Action == Implied && !slices.Contains(kinds[key], id.name) {
				kinds[key] = append(kinds[key], id.name)
			}
		}
	}
	var texts []string
	add := func(key, format string) {
		if names := kinds[key]; len(names) > 0 {
			texts = append(texts, fmt.Sprintf(format, strings.Join(sorted(names), ", ")))
		}
	}
	if pods {
		texts = append(texts, "kubelet: images are not pulled and containers do not run; pods become ready, and those of Jobs succeed, without probes")
	}
	add("LoadBalancer", "cloud: LoadBalancer Services get no address (%s)")
	add("implied StorageClass", "storage: StorageClasses that no manifest defines provision at once (%s)")
	add("implied PriorityClass", "implied: PriorityClasses that no manifest defines, value unknown, 0 assumed (%s)")
	add("implied RuntimeClass", "implied: RuntimeClasses that no manifest defines, overhead and node selector unknown, none assumed (%s)")
	add("StorageClass.storage.k8s.io", "storage: provisioners do not run; volumes of their StorageClasses appear at once (%s)")
	add("Ingress.networking.k8s.io", "ingress controller: Ingresses get no address (%s)")
	add("NetworkPolicy.networking.k8s.io", "network: policies are stored and not enforced (%s)")
	add(autoscalerType, "metrics: containers use nothing; usage of CPU and memory is what meets the target of HorizontalPodAutoscalers, but for pods with an annotation kctl-ctrl.dev/cpu-usage or kctl-ctrl.dev/memory-usage (%s)")
	add("other metrics", "metrics: custom and external metrics are not served (HorizontalPodAutoscaler %s)")
	add("MutatingWebhookConfiguration.admissionregistration.k8s.io", "admission webhooks: not called (MutatingWebhookConfiguration %s)")
	add("ValidatingWebhookConfiguration.admissionregistration.k8s.io", "admission webhooks: not called (ValidatingWebhookConfiguration %s)")
	add("APIService.apiregistration.k8s.io", "aggregated APIs: not served (%s)")
	add("conversion", "conversion webhooks: not called (CustomResourceDefinition %s)")
	if in.At.IsZero() {
		add("CronJob.batch", "clock: CronJobs are suspended, name a time with --at to see them fire (%s)")
	} else {
		add("CronJob.batch", "clock: CronJobs are suspended; Jobs were created for those due at "+minuteOf(in.At).Format(time.RFC3339)+" (%s)")
	}
	for _, t := range slices.Sorted(maps.Keys(customSeen)) {
		texts = append(texts, fmt.Sprintf("operators: nothing acts on %s, its objects stay as applied", t))
	}
	return sorted(texts)
}

func fieldText(content map[string]any, path ...string) string {
	text, _, _ := unstructured.NestedString(content, path...)
	return text
}

// customKinds are the types that CustomResourceDefinitions define.
func (w *world) customKinds() map[string]bool {
	custom := map[string]bool{}
	for _, i := range w.items {
		if i.typeName() == "CustomResourceDefinition.apiextensions.k8s.io" {
			custom[typeName(fieldText(i.content(), "spec", "group"), fieldText(i.content(), "spec", "names", "kind"))] = true
		}
	}
	return custom
}
