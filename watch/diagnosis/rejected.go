package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func ownedBy(refs []metav1.OwnerReference, uid types.UID) bool {
	return slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == uid })
}

// A refusal is a rejected request of a controller to create an object.
type refusal struct {
	// by is the object whose controller was rejected.
	by      state.Ref
	path    string
	message string
	// now is true if it is the latest answer, not a past Event.
	now bool
	// others counts further refusals with the same message.
	others int
}

// refusals collects conditions, Events, and the server's answers to controllers in a
// run with --dry-run=server, each message once.
func (f *Facts) refusals() []refusal {
	var out []refusal
	add := func(r refusal) {
		for i := range out {
			if sameRefusal(out[i].message, r.message) {
				out[i].others++
				return
			}
		}
		out = append(out, r)
	}
	for i := range f.ReplicaSets {
		rs := &f.ReplicaSets[i]
		for _, c := range rs.Status.Conditions {
			if c.Type == "ReplicaFailure" && c.Status == corev1.ConditionTrue {
				add(refusal{by: apps("replicasets", rs), path: "status.conditions[type=ReplicaFailure]", message: c.Message, now: true})
			}
		}
	}
	for i := range f.Controllers {
		rc := &f.Controllers[i]
		for _, c := range rc.Status.Conditions {
			if c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue {
				add(refusal{by: core("replicationcontrollers", rc), path: "status.conditions[type=ReplicaFailure]", message: c.Message, now: true})
			}
		}
	}
	for i := range f.Deployments {
		d := &f.Deployments[i]
		for _, c := range d.Status.Conditions {
			if c.Type == "ReplicaFailure" && c.Status == corev1.ConditionTrue {
				add(refusal{by: apps("deployments", d), path: "status.conditions[type=ReplicaFailure]", message: c.Message, now: true})
			}
		}
	}
	if f.Story != nil {
		for _, sync := range f.Story.Syncs {
			for _, w := range sync.Writes {
				if w.Verb == "create" && w.Result == state.WriteFailed && w.Status >= 400 && w.Message != "" {
					add(refusal{by: state.Ref{Resource: sync.Queue, Name: sync.Key}, path: "create " + w.Object.Type() + " (dry run on the server)", message: w.Message, now: true})
				}
			}
		}
	}
	for _, e := range f.Events {
		if (e.Reason == "FailedCreate" || e.Reason == "FailedUpdate") && f.stillWanted(string(e.InvolvedObject.UID)) {
			r := state.Ref{Resource: strings.ToLower(e.InvolvedObject.Kind) + "s", Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID)}
			if e.InvolvedObject.Kind != "ReplicationController" && e.InvolvedObject.Kind != "Pod" {
				r.Group, _, _ = strings.Cut(e.InvolvedObject.APIVersion, "/")
			}
			add(refusal{by: r, path: "event " + e.Reason + ", " + f.ago(eventTime(e)), message: e.Message})
		}
	}
	return out
}

// stillWanted reports whether the controller of an Event still lacks pods, so that the
// Event is current.
func (f *Facts) stillWanted(uid string) bool {
	for i := range f.ReplicaSets {
		if rs := &f.ReplicaSets[i]; string(rs.UID) == uid {
			return rs.Status.Replicas < orOne(rs.Spec.Replicas)
		}
	}
	for i := range f.StatefulSets {
		if s := &f.StatefulSets[i]; string(s.UID) == uid {
			return s.Status.Replicas < orOne(s.Spec.Replicas)
		}
	}
	for i := range f.DaemonSets {
		if s := &f.DaemonSets[i]; string(s.UID) == uid {
			return s.Status.CurrentNumberScheduled < s.Status.DesiredNumberScheduled
		}
	}
	for i := range f.Jobs {
		if j := &f.Jobs[i]; string(j.UID) == uid {
			return !finished(j) && j.Status.Active < orOne(j.Spec.Parallelism)
		}
	}
	for i := range f.Controllers {
		if rc := &f.Controllers[i]; string(rc.UID) == uid {
			return rc.Status.Replicas < orOne(rc.Spec.Replicas)
		}
	}
	return false
}

var podName = regexp.MustCompile(`pods? "[^"]*"|create Pod \S+ in`)

// sameRefusal compares messages without the pods' generated names.
func sameRefusal(a, b string) bool {
	return core403(a) == core403(b)
}

func core403(message string) string {
	if _, reason, cut := strings.Cut(message, "is forbidden: "); cut {
		message = reason
	}
	message = strings.TrimPrefix(message, "Error creating: ")
	return podName.ReplaceAllString(message, "")
}

var (
	quotaText   = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)`)
	mustSpecify = regexp.MustCompile(`failed quota: ([^:]+): must specify (.*)`)
	limitText   = regexp.MustCompile(`(maximum|minimum|max limit to request ratio) .* usage per|usage per (Container|Pod)`)
	webhookText = regexp.MustCompile(`admission webhook "([^"]*)" denied the request`)
	webhookCall = regexp.MustCompile(`failed calling webhook "([^"]*)"`)
	policyText  = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']*)'(?: with binding '([^']*)')? denied request: (.*)`)
	classText   = regexp.MustCompile(`no PriorityClass with name (\S+) was found`)
	accountText = regexp.MustCompile(`error looking up service account ([^/]+)/([^:]+):`)
)

// rejected reports objects of a controller that the API server rejected.
func rejected(f *Facts) []*draft {
	var out []*draft
	for _, r := range f.refusals() {
		if accountText.MatchString(r.message) {
			continue // missingServiceAccount reports it
		}
		d := f.readRefusal(r)
		d.see(r.by, r.path, r.message)
		switch past := f.past(r.message); {
		case past != "":
			d.likely().Text += "; " + past + ": the controller retries"
		case !r.now:
			d.likely()
		}
		out = append(out, d)
	}
	return out
}

func (f *Facts) readRefusal(r refusal) *draft {
	switch {
	case quotaText.MatchString(r.message):
		return f.quota(r)
	case mustSpecify.MatchString(r.message):
		parts := mustSpecify.FindStringSubmatch(r.message)
		return because("QuotaExceeded", r.by, "ResourceQuota %s requires pods to specify %s, and these do not", parts[1], parts[2]).
			next("set requests and limits in the template, or create a LimitRange with defaults%s", in(f.Target.Namespace))
	case strings.Contains(r.message, "violates PodSecurity"):
		d := because("PodSecurity", r.by, "the namespace's Pod Security level does not allow its pods")
		if _, rest, cut := strings.Cut(r.message, "violates PodSecurity "); cut {
			d.Text = fmt.Sprintf("its pods violate the namespace's Pod Security level %s", rest)
		}
		if f.Namespace != nil {
			for _, label := range []string{"pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/enforce-version"} {
				if v := f.Namespace.Labels[label]; v != "" {
					d.see(core("namespaces", f.Namespace), "metadata.labels["+label+"]", v)
				}
			}
		}
		return d.next("set the securityContext required by the message in the template")
	case webhookCall.MatchString(r.message):
		name := webhookCall.FindStringSubmatch(r.message)[1]
		return because("WebhookFailed", r.by, "admission webhook %s cannot be called, and its failurePolicy is Fail: no pods are created", name).
			next("check the server behind it: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o wide")
	case webhookText.MatchString(r.message):
		name := webhookText.FindStringSubmatch(r.message)[1]
		return because("WebhookDenied", r.by, "admission webhook %s denies its pods", name).next("change the template as the message says, or ask the owner of the webhook")
	case policyText.MatchString(r.message):
		m := policyText.FindStringSubmatch(r.message)
		return because("PolicyDenied", r.by, "ValidatingAdmissionPolicy %s denies its pods: %s", m[1], m[3]).
			next("change the template as the policy requires: kubectl get validatingadmissionpolicy %s -o yaml", word(m[1]))
	case classText.MatchString(r.message):
		name := classText.FindStringSubmatch(r.message)[1]
		return because("MissingPriorityClass", r.by, "its pods are rejected: PriorityClass %s does not exist", name).next("create it, or correct priorityClassName in the template: kubectl get priorityclasses")
	case limitText.MatchString(r.message):
		d := because("LimitRange", r.by, "a LimitRange of the namespace does not allow its pods' requests or limits")
		for i := range f.LimitRanges {
			l := &f.LimitRanges[i]
			for _, item := range l.Spec.Limits {
				if item.Type == corev1.LimitTypeContainer || item.Type == corev1.LimitTypePod {
					d.see(core("limitranges", l), "spec.limits[type="+string(item.Type)+"]", "min "+resources(item.Min)+", max "+resources(item.Max))
				}
			}
		}
		return d.next("change the template's resources, or the LimitRange%s", in(f.Target.Namespace))
	}
	return because("Rejected", r.by, "the API server rejects the objects that its controller creates").next("correct what the message names")
}

// named returns the object that decides about a refusal, as a key of Facts.Standing,
// and whether the refusal requires that it exists.
func named(message string) (key string, refuses bool) {
	switch {
	case webhookCall.MatchString(message):
		return "webhooks/" + webhookCall.FindStringSubmatch(message)[1], true
	case webhookText.MatchString(message):
		return "webhooks/" + webhookText.FindStringSubmatch(message)[1], true
	case policyText.MatchString(message):
		return policiesType + "/" + policyText.FindStringSubmatch(message)[1], true
	case classText.MatchString(message):
		return classesType + "/" + classText.FindStringSubmatch(message)[1], false
	}
	return "", false
}

const (
	policiesType = "validatingadmissionpolicies.admissionregistration.k8s.io"
	classesType  = "priorityclasses.scheduling.k8s.io"
)

// past returns why a refusal no longer applies; empty if that is not known.
func (f *Facts) past(message string) string {
	if key, refuses := named(message); key != "" {
		switch standing := f.Standing[key]; {
		case refuses && standing == absent:
			return "it no longer exists"
		case !refuses && standing == present:
			return "it exists now"
		}
		return ""
	}
	switch {
	case quotaText.MatchString(message), mustSpecify.MatchString(message):
		m := quotaText.FindStringSubmatch(message)
		if m == nil {
			m = mustSpecify.FindStringSubmatch(message)
		}
		if f.Known["resourcequotas"] && !slices.ContainsFunc(f.Quotas, func(q corev1.ResourceQuota) bool { return q.Name == m[1] }) {
			return "it no longer exists"
		}
	case limitText.MatchString(message):
		if f.Known["limitranges"] && len(f.LimitRanges) == 0 {
			return "the namespace has none now"
		}
	case strings.Contains(message, "violates PodSecurity"):
		// The API server's own configuration may set a level, too.
		if f.Namespace != nil && f.Namespace.Labels["pod-security.kubernetes.io/enforce"] == "" {
			return "the namespace has no such level now"
		}
	}
	return ""
}

// quota compares the message with the current quota.
func (f *Facts) quota(r refusal) *draft {
	parts := quotaText.FindStringSubmatch(r.message)
	name := parts[1]
	d := because("QuotaExceeded", r.by, "ResourceQuota %s is exceeded: requested %s, used %s, limited to %s", name, parts[2], parts[3], parts[4])
	agree := false
	for i := range f.Quotas {
		q := &f.Quotas[i]
		if q.Name != name {
			continue
		}
		for _, item := range strings.Split(parts[2], ",") {
			resourceName, amount, _ := strings.Cut(item, "=")
			hard, used := q.Status.Hard[corev1.ResourceName(resourceName)], q.Status.Used[corev1.ResourceName(resourceName)]
			d.see(core("resourcequotas", q), "status.used["+resourceName+"]", used.String()+" of "+hard.String())
			if want, err := resource.ParseQuantity(amount); err == nil {
				want.Add(used)
				agree = agree || want.Cmp(hard) > 0
			}
		}
	}
	d.next("raise the quota or reduce its usage: kubectl describe resourcequota %s%s", word(name), in(f.Target.Namespace))
	if len(d.Evidence) > 0 && !agree {
		d.likely()
		d.Text = fmt.Sprintf("ResourceQuota %s rejected a pod (requested %s) and has capacity for it now: the controller retries", name, parts[2])
		d.next("wait for the next retry, or change the object")
	}
	return d
}

func resources(list corev1.ResourceList) string {
	if len(list) == 0 {
		return "none"
	}
	var out []string
	for name, q := range list {
		out = append(out, string(name)+"="+q.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// missingServiceAccount reports pods that are rejected because their ServiceAccount
// does not exist.
func missingServiceAccount(f *Facts) []*draft {
	for _, r := range f.refusals() {
		parts := accountText.FindStringSubmatch(r.message)
		if parts == nil {
			continue
		}
		d := because("MissingServiceAccount", r.by, "its pods are rejected: ServiceAccount %s does not exist", parts[2]).see(r.by, r.path, r.message)
		switch f.has("serviceaccounts", parts[1], parts[2]) {
		case present:
			d.likely()
			d.Text = fmt.Sprintf("its pods were rejected because ServiceAccount %s did not exist; it exists now: the controller retries", parts[2])
			return one(d.next("wait for the next retry"))
		case absent:
			d.see(state.Ref{Resource: "serviceaccounts", Namespace: parts[1], Name: parts[2]}, "", "not found")
		default:
			d.likely()
		}
		return one(d.next("kubectl create serviceaccount %s%s", word(parts[2]), in(parts[1])))
	}
	return nil
}
