package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A group is one finding about several pods that share a reason.
type group struct {
	*draft
	pods []string
}

// grouped merges findings about pods. each returns, for a pod, a key that is equal for
// pods with the same reason, and the finding; nil for none.
func (f *Facts) grouped(each func(*corev1.Pod) (string, *draft)) []*draft {
	found := map[string]*group{}
	var order []string
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		key, d := each(p)
		switch {
		case d == nil:
		case found[key] == nil:
			found[key] = &group{draft: d, pods: []string{p.Name}}
			order = append(order, key)
		default:
			found[key].pods = append(found[key].pods, p.Name)
		}
	}
	var out []*draft
	for _, key := range order {
		g := found[key]
		if n := len(g.pods); n > 1 {
			g.see(g.Object, "also", few(g.pods[1:]))
			g.Text += fmt.Sprintf(" (%d pods)", n)
		}
		out = append(out, g.draft)
	}
	return out
}

// missingSources finds missing ConfigMaps, Secrets and claims that a pod references.
func missingSources(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if podReady(p) {
			return "", nil
		}
		for _, s := range sources(p) {
			if s.optional || f.has(s.resource, p.Namespace, s.name) != absent {
				continue
			}
			cause := map[string]string{"configmaps": "MissingConfigMap", "secrets": "MissingSecret", "persistentvolumeclaims": "MissingClaim"}[s.resource]
			kind := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "persistentvolumeclaims": "PersistentVolumeClaim"}[s.resource]
			d := because(cause, podRef(p), "pod %s references %s %s, which does not exist", p.Name, kind, s.name).
				see(podRef(p), s.path, s.name).
				see(state.Ref{Resource: s.resource, Namespace: p.Namespace, Name: s.name}, "", "not found")
			switch {
			case started(p):
				d.remark().Text = fmt.Sprintf("pod %s has started, and %s %s, which it references, no longer exists: new pods cannot start", p.Name, kind, s.name)
			case s.resource != "persistentvolumeclaims" && p.Spec.NodeName == "":
				d.remark().Text = fmt.Sprintf("pod %s is not scheduled yet, and %s %s, which it references, does not exist", p.Name, kind, s.name)
			}
			for _, e := range f.events(string(p.UID), "FailedMount", "Failed", "FailedScheduling")[:min(1, len(f.events(string(p.UID), "FailedMount", "Failed", "FailedScheduling")))] {
				d.event(e)
			}
			return s.resource + s.name, d.next("create it, or correct the name in the template: kubectl get %s%s", s.resource, in(p.Namespace))
		}
		return "", nil
	})
}

// started reports whether the pod's containers have run and none waits for a missing
// ConfigMap or Secret.
func started(p *corev1.Pod) bool {
	if _, s := waiting(p, "CreateContainerConfigError"); s != nil || p.Status.Phase == corev1.PodPending {
		return false
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
	})
}

// source is an object in the namespace that a pod needs to start.
type source struct {
	resource, name, path string
	optional             bool
}

func sources(p *corev1.Pod) []source {
	var out []source
	add := func(resource, name, path string, optional *bool) {
		if name != "" {
			out = append(out, source{resource, name, path, optional != nil && *optional})
		}
	}
	for _, v := range p.Spec.Volumes {
		path := "spec.volumes[name=" + v.Name + "]."
		switch {
		case v.ConfigMap != nil:
			add("configmaps", v.ConfigMap.Name, path+"configMap.name", v.ConfigMap.Optional)
		case v.Secret != nil:
			add("secrets", v.Secret.SecretName, path+"secret.secretName", v.Secret.Optional)
		case v.PersistentVolumeClaim != nil:
			add("persistentvolumeclaims", v.PersistentVolumeClaim.ClaimName, path+"persistentVolumeClaim.claimName", nil)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.ConfigMap != nil {
					add("configmaps", s.ConfigMap.Name, path+"projected.sources[].configMap.name", s.ConfigMap.Optional)
				}
				if s.Secret != nil {
					add("secrets", s.Secret.Name, path+"projected.sources[].secret.name", s.Secret.Optional)
				}
			}
		}
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		path := "spec.containers[name=" + c.Name + "]."
		for _, e := range c.EnvFrom {
			if e.ConfigMapRef != nil {
				add("configmaps", e.ConfigMapRef.Name, path+"envFrom[].configMapRef.name", e.ConfigMapRef.Optional)
			}
			if e.SecretRef != nil {
				add("secrets", e.SecretRef.Name, path+"envFrom[].secretRef.name", e.SecretRef.Optional)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
				add("configmaps", r.Name, path+"env[name="+e.Name+"].valueFrom.configMapKeyRef.name", r.Optional)
			}
			if r := e.ValueFrom.SecretKeyRef; r != nil {
				add("secrets", r.Name, path+"env[name="+e.Name+"].valueFrom.secretKeyRef.name", r.Optional)
			}
		}
	}
	return out
}

func schedulingGated(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if len(p.Spec.SchedulingGates) == 0 || p.Spec.NodeName != "" {
			return "", nil
		}
		var names []string
		for _, g := range p.Spec.SchedulingGates {
			names = append(names, g.Name)
		}
		return strings.Join(names, ","), because("SchedulingGated", podRef(p), "pod %s is not scheduled until its scheduling gates are removed: %s", p.Name, few(names)).
			see(podRef(p), "spec.schedulingGates[].name", strings.Join(names, ", ")).next("find the controller that set the gates and check why it does not remove them")
	})
}

func noScheduler(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil || len(p.Spec.SchedulingGates) > 0 || condition(p, corev1.PodScheduled) != nil {
			return "", nil
		}
		name := p.Spec.SchedulerName
		d := because("NoScheduler", podRef(p), "no scheduler has processed pod %s: its schedulerName is %s", p.Name, name).likely().
			see(podRef(p), "spec.schedulerName", name).
			see(podRef(p), "status.conditions[type=PodScheduled]", "none").
			see(podRef(p), "metadata.creationTimestamp", f.ago(p.CreationTimestamp.Time))
		return name, d.next("check that this scheduler is running: kctl-ctrl get leases%s", in("kube-system"))
	})
}

// waiting returns a container that waits for one of the reasons.
func waiting(p *corev1.Pod, reasons ...string) (path string, s *corev1.ContainerStatus) {
	for _, list := range []struct {
		path     string
		statuses []corev1.ContainerStatus
	}{{"status.initContainerStatuses", p.Status.InitContainerStatuses}, {"status.containerStatuses", p.Status.ContainerStatuses}} {
		for i := range list.statuses {
			if w := list.statuses[i].State.Waiting; w != nil && slices.Contains(reasons, w.Reason) {
				return fmt.Sprintf("%s[name=%s].state", list.path, list.statuses[i].Name), &list.statuses[i]
			}
		}
	}
	return "", nil
}

func imagePull(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		path, s := waiting(p, "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError")
		if s == nil {
			return "", nil
		}
		d := because("ImagePull", podRef(p), "the image of container %s cannot be pulled: %s", s.Name, s.Image).
			see(podRef(p), path+".waiting", joinWords(s.State.Waiting.Reason, "", s.State.Waiting.Message))
		for _, e := range f.events(string(p.UID), "Failed") {
			if strings.Contains(strings.ToLower(e.Message), "image") {
				d.event(e)
				break
			}
		}
		return s.Image, d.next("check the image name and tag, and the imagePullSecrets of the pod and its ServiceAccount")
	})
}

// unauthorised matches the answers of registries to clients without valid credentials.
var unauthorised = regexp.MustCompile(`(?i)unauthorized|authorization|authentication|denied|forbidden|401|403`)

// pullSecrets finds missing pull secrets of images that cannot be pulled. The kubelet
// then pulls without them, which may work.
func pullSecrets(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		path, s := waiting(p, "ErrImagePull", "ImagePullBackOff")
		if s == nil {
			return "", nil
		}
		for _, ref := range p.Spec.ImagePullSecrets {
			if ref.Name == "" || f.has("secrets", p.Namespace, ref.Name) != absent {
				continue
			}
			d := because("MissingPullSecret", podRef(p), "the image of container %s cannot be pulled: its pull secret %s does not exist", s.Name, ref.Name).
				see(podRef(p), "spec.imagePullSecrets[].name", ref.Name).
				see(state.Ref{Resource: "secrets", Namespace: p.Namespace, Name: ref.Name}, "", "not found").
				see(podRef(p), path+".waiting", joinWords(s.State.Waiting.Reason, "", s.State.Waiting.Message))
			if m := s.State.Waiting.Message; !unauthorised.MatchString(m) || strings.Contains(m, "does not exist") {
				d.likely() // registries return the same message for images that do not exist
			}
			return ref.Name, d.next("kubectl create secret docker-registry %s%s", word(ref.Name), in(p.Namespace))
		}
		return "", nil
	})
}

func volumeMount(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		events := slices.DeleteFunc(f.mountFailures(p), func(e corev1.Event) bool {
			return strings.Contains(e.Message, "Multi-Attach error") || strings.Contains(e.Message, "references non-existent ")
		})
		if len(events) == 0 {
			return "", nil
		}
		d := because("VolumeMount", podRef(p), "a volume of pod %s cannot be mounted on node %s", p.Name, p.Spec.NodeName).likely().event(events[0])
		return events[0].Reason, d.next("%s", kubectl("describe", podRef(p)))
	})
}

// crashing finds containers that keep crashing.
func crashing(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		r := podRef(p)
		if path, s := waiting(p, "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError"); s != nil {
			w := s.State.Waiting
			if w.Reason == "RunContainerError" && w.Message != "" || missingKeyText.MatchString(w.Message) {
				return "", nil // startErrors and missingKeys report it
			}
			d := because("ContainerFailed", r, "container %s cannot be started: %s", s.Name, joinWords(w.Reason, "", w.Message)).
				see(r, path+".waiting", joinWords(w.Reason, "", w.Message)).
				see(r, strings.TrimSuffix(path, ".state")+".restartCount", s.RestartCount)
			if strings.Contains(w.Message, "runAsNonRoot") {
				d.Cause = "RunAsNonRoot"
				d.Text = fmt.Sprintf("container %s must not run as root (runAsNonRoot), and its image runs as root or as a named user", s.Name)
				return d.Cause + s.Name, d.next("set runAsUser in the securityContext, or USER in the image, to a non-zero UID")
			}
			return w.Reason + s.Name, d.next("%s", kubectl("describe", r))
		}
		for _, c := range containers(p) {
			t, path := c.ended()
			backOff := c.status.State.Waiting != nil && c.status.State.Waiting.Reason == "CrashLoopBackOff"
			switch {
			case !backOff && !c.restarts(p, f.Now):
				continue
			case t != nil && (t.Reason == "OOMKilled" || t.Reason == "StartError" || t.Reason == "ContainerCannotRun"):
				continue // outOfMemory and startErrors report it
			case !backOff && c.status.State.Running != nil:
				continue // it is running again
			case f.killedByProbe(p, c.status.Name):
				continue
			}
			d := because("CrashLoop", r, "container %s keeps crashing: %s", c.status.Name, lastEnd(c.status))
			if w := c.status.State.Waiting; w != nil {
				d.see(r, c.path+".state.waiting", joinWords(w.Reason, "", w.Message))
			}
			d.see(r, c.path+".restartCount", c.status.RestartCount)
			if t != nil {
				d.see(r, path, endWords(t))
				if (t.ExitCode == 137 || t.ExitCode == 143) && (c.spec.LivenessProbe != nil || c.spec.StartupProbe != nil) {
					d.likely() // it was terminated by a signal, which a failing probe sends, too
				}
			}
			return c.status.Name, d.next("kubectl logs %s -c %s --previous%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}

func lastEnd(s *corev1.ContainerStatus) string {
	t := s.State.Terminated
	if t == nil {
		t = s.LastTerminationState.Terminated
	}
	switch {
	case t == nil:
		return fmt.Sprintf("it was started %d times", s.RestartCount+1)
	case t.Reason != "" && t.Reason != "Error":
		return fmt.Sprintf("last exit code %d, %s", t.ExitCode, t.Reason)
	}
	return fmt.Sprintf("last exit code %d", t.ExitCode)
}

func podOnLostNode(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Spec.NodeName == "" || p.DeletionTimestamp != nil {
			return "", nil
		}
		node, known := f.node(p.Spec.NodeName)
		switch {
		case known == absent:
			return p.Spec.NodeName, because("NodeNotReady", podRef(p), "node %s of pod %s no longer exists", p.Spec.NodeName, p.Name).see(podRef(p), "spec.nodeName", p.Spec.NodeName).
				next("the pod garbage collector removes the pod")
		case node != nil && !nodeReady(node):
			return p.Spec.NodeName, because("NodeNotReady", podRef(p), "the kubelet of node %s is unreachable: the status of pod %s is stale", p.Spec.NodeName, p.Name).
				see(core("nodes", node), "status.conditions[type=Ready]", readyWords(node)).next("kubectl describe node %s", word(node.Name))
		}
		return "", nil
	})
}

// stuck reports whether a container waits for a reason other than normal startup.
func stuck(p *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		w := s.State.Waiting
		return w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing"
	})
}

// notReady finds pods that are running but not ready.
func notReady(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		r := podRef(p)
		if p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "" && p.DeletionTimestamp == nil && len(p.Status.ContainerStatuses) == 0 {
			if _, known := f.node(p.Spec.NodeName); known == absent {
				return "", nil
			}
			d := because("NotReady", r, "pod %s is assigned to node %s, and the kubelet has not started it", p.Name, p.Spec.NodeName).likely().symptom().
				see(r, "spec.nodeName", p.Spec.NodeName).see(r, "status.phase", p.Status.Phase)
			return "unstarted", d.next("%s", kubectl("describe", r))
		}
		if p.Status.Phase != corev1.PodRunning || podReady(p) || p.DeletionTimestamp != nil {
			return "", nil
		}
		if stuck(p) {
			return "", nil // another check reports why
		}
		if f.onLostNode(p) {
			return "", nil // its status is stale
		}
		d := because("NotReady", r, "pod %s is running but not ready", p.Name).symptom().see(r, "status.conditions[type=Ready]", conditionWords(p, corev1.PodReady))
		if events := f.events(string(p.UID), "Unhealthy"); len(events) > 0 {
			d.Text = fmt.Sprintf("pod %s is running but fails its probe", p.Name)
			d.event(events[0])
		}
		return d.Text[strings.Index(d.Text, p.Name)+len(p.Name):], d.next("kubectl logs %s%s", word("pod/"+p.Name), in(p.Namespace))
	})
}
