package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var killedByProbe = regexp.MustCompile(`Container (\S+) failed (liveness|startup) probe`)

// probes finds liveness and startup probes that get a container killed. The kubelet
// records that in an Event; without it, the finding is only likely.
func probes(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if podReady(p) || p.DeletionTimestamp != nil {
			return "", nil
		}
		unhealthy := f.events(string(p.UID), "Unhealthy")
		for _, kind := range []struct{ cause, name string }{{"StartupProbe", "Startup"}, {"LivenessProbe", "Liveness"}} {
			i := slices.IndexFunc(unhealthy, func(e corev1.Event) bool { return strings.HasPrefix(e.Message, kind.name+" probe ") })
			if i < 0 {
				continue
			}
			for _, c := range containers(p) {
				probe := c.spec.LivenessProbe
				if kind.name == "Startup" {
					probe = c.spec.StartupProbe
				}
				if probe == nil || !c.restarts(p, f.Now) && (kind.name == "Liveness" || c.status.State.Running == nil) {
					continue
				}
				d := because(kind.cause, podRef(p), "the %s probe of container %s fails, so the kubelet restarts the container", strings.ToLower(kind.name), c.status.Name)
				killed := slices.DeleteFunc(f.events(string(p.UID), "Killing"), func(e corev1.Event) bool {
					m := killedByProbe.FindStringSubmatch(e.Message)
					return m == nil || m[1] != c.status.Name || !strings.EqualFold(m[2], kind.name)
				})
				if t, _ := c.ended(); t == nil || len(killed) == 0 || !t.StartedAt.IsZero() && eventTime(killed[0]).Before(t.StartedAt.Time) {
					d.likely()
				}
				d.event(unhealthy[i])
				if len(killed) > 0 {
					d.event(killed[0])
				}
				d.see(podRef(p), "spec.containers[name="+c.status.Name+"]."+strings.ToLower(kind.name)+"Probe", probeWords(probe))
				d.see(podRef(p), c.path+".restartCount", c.status.RestartCount)
				return kind.cause + c.status.Name, d.next("compare the probe's port, path and timeouts with what the container serves: kubectl logs %s -c %s%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
			}
		}
		return "", nil
	})
}

// killedByProbe reports whether a liveness or startup probe is certain to have
// terminated the container.
func (f *Facts) killedByProbe(p *corev1.Pod, container string) bool {
	for _, e := range f.events(string(p.UID), "Killing") {
		m := killedByProbe.FindStringSubmatch(e.Message)
		if m == nil || m[1] != container {
			continue
		}
		for _, c := range containers(p) {
			probed := c.spec.LivenessProbe != nil || c.spec.StartupProbe != nil
			if t, _ := c.ended(); c.status.Name == container && probed && t != nil && !eventTime(e).Before(t.StartedAt.Time) {
				return true
			}
		}
	}
	return false
}

func probeWords(p *corev1.Probe) string {
	text := "timeout " + orDefault(p.TimeoutSeconds, 1) + "s, period " + orDefault(p.PeriodSeconds, 10) + "s, failureThreshold " + orDefault(p.FailureThreshold, 3)
	switch {
	case p.HTTPGet != nil:
		return "HTTP port " + p.HTTPGet.Port.String() + " path " + p.HTTPGet.Path + ", " + text
	case p.TCPSocket != nil:
		return "TCP port " + p.TCPSocket.Port.String() + ", " + text
	case p.GRPC != nil:
		return fmt.Sprintf("gRPC port %d, %s", p.GRPC.Port, text)
	case p.Exec != nil:
		return "command " + strings.Join(p.Exec.Command, " ") + ", " + text
	}
	return text
}

// orDefault is a field of a probe, or the API server's default if it is 0.
func orDefault(n, otherwise int32) string {
	if n == 0 {
		n = otherwise
	}
	return fmt.Sprint(n)
}

// notServing finds running containers whose readiness probe fails, and readiness gates
// that are not met.
func notServing(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Status.Phase != corev1.PodRunning || podReady(p) || p.DeletionTimestamp != nil || f.onLostNode(p) {
			return "", nil
		}
		r := podRef(p)
		ready := condition(p, corev1.ContainersReady)
		for _, gate := range p.Spec.ReadinessGates {
			if c := condition(p, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
				d := because("ReadinessGate", r, "pod %s waits for readiness gate %s: the condition has not been set to True", p.Name, gate.ConditionType).
					see(r, "status.conditions[type="+string(gate.ConditionType)+"]", conditionWords(p, gate.ConditionType)).
					see(r, "status.conditions[type=ContainersReady]", conditionWords(p, corev1.ContainersReady))
				if ready == nil || ready.Status != corev1.ConditionTrue {
					d.symptom() // its containers are not ready either
				}
				return string(gate.ConditionType), d.next("find the controller that sets this condition and check why it does not")
			}
		}
		events := slices.DeleteFunc(f.events(string(p.UID), "Unhealthy"), func(e corev1.Event) bool { return !strings.HasPrefix(e.Message, "Readiness probe ") })
		for _, c := range containers(p) {
			if c.spec.ReadinessProbe == nil || c.status.Ready || c.status.State.Running == nil || len(events) == 0 || c.restarts(p, f.Now) {
				continue
			}
			d := because("ReadinessProbe", r, "container %s of pod %s is running, but its readiness probe fails", c.status.Name, p.Name).
				event(events[0]).see(r, "spec.containers[name="+c.status.Name+"].readinessProbe", probeWords(c.spec.ReadinessProbe)).
				see(r, "status.conditions[type=Ready]", conditionWords(p, corev1.PodReady))
			return c.status.Name, d.next("compare the probe's port and path with what the container serves: kubectl logs %s -c %s%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}
