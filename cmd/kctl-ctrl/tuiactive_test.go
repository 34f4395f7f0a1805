package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// holder is who holds kube-controller-manager's lease, as the API server has it.
func (c *contested) holder(t *testing.T) string {
	t.Helper()
	lease, err := c.client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager", metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func (c *contested) deploy(t *testing.T, name string) {
	t.Helper()
	pods := withLabel(template("web:1"), name)
	_, err := c.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: pods.Labels}, Template: pods},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// rolledOut tells whether the Deployment's loops have done their work: that of the
// Deployment has made a ReplicaSet, and that of the ReplicaSet the pods.
func (c *contested) rolledOut(t *testing.T, name string) bool {
	t.Helper()
	pods, err := c.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil {
		t.Fatal(err)
	}
	return len(pods.Items) == 2
}

// onContested starts the screen on the contested cluster.
func onContested(t *testing.T, w *way, columns, rows int, args ...string) *terminal {
	t.Helper()
	args = append(append([]string{"tui", "--kubeconfig=" + w.kubeconfig, "--namespace=", "--kube-api-qps=-1"}, electionArgs()...), args...)
	return onTerminal(t, columns, rows, args...)
}

// TestScreenWritesForReal goes through active mode as a user does; what it comes to
// is said by the API server.
func TestScreenWritesForReal(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.deploy(t, "web")
	w := c.way(t, "a")
	x := onContested(t, w, 110, 30, "--active", "--controllers=deployment,replicaset")
	x.shows("Write to context contested for real?", "held by", "deployment, replicaset", "not named above do not run", "Type the name of the context:", "DRY-RUN=CLIENT")

	x.press("contest<enter>").shows("Active mode is refused", `"contest" was typed, and the context is "contested"`)
	if v := rule(c.requests(t), shortDeadline); len(v.terms) != 0 || len(v.writes) != 0 {
		t.Fatalf("something was written without the right name: %+v", v)
	}

	x.press("<esc>").shows("Controllers: 2 of 49").press("L").shows("Type the name of the context:").press("contested<enter>").shows(" ACTIVE ", "2 of 49 running here, FOR REAL")
	await(t, "the Deployment is rolled out", func() bool { return c.rolledOut(t, "web") })
	x.press("4").matches(`create +pods defaul\S* +real`)
	x.press("7").shows("Our election", "leading since", "Our writes are blocked in", "WE LEAD", "this process")
	c.deploy(t, "later")
	await(t, "a later Deployment is rolled out", func() bool { return c.rolledOut(t, "later") })

	// The queue in hand is that of the loop which writes, not of the one before.
	x.press("1/^deployment<enter>").shows("> deployment").press("P").shows("PAUSED")
	c.deploy(t, "held")
	x.press("Q/held<enter>").shows("/held", "> ready ", "default/held").press("s")
	await(t, "a Deployment is rolled out by a step", func() bool { return c.rolledOut(t, "held") })

	x.press("q").shows("Quit, stop the controllers and release the lease?").press("n").shows("Nothing was done", " ACTIVE ")
	held := c.holder(t)
	x.press("qy")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
	if now := c.holder(t); !strings.Contains(held, "kctl-ctrl") || now != "" {
		t.Errorf("the lease was held by %q, and is now by %q", held, now)
	}
	if v := rule(c.requests(t), shortDeadline); len(v.late) != 0 || len(v.stray) != 0 || v.writes["a"] < 6 {
		t.Errorf("writes %v, late %q, stray %q", v.writes, v.late, v.stray)
	}
}

// TestScreenStandsBy: beside a live holder the screen is a candidate and says who
// leads; the loops go on dry, and the user can step down.
func TestScreenStandsBy(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.deploy(t, "web")
	now := metav1.NowMicro()
	_, err := c.client.CoordinationV1().Leases("kube-system").Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("node-1_real"), LeaseDurationSeconds: ptr.To[int32](3600),
			AcquireTime: ptr.To(metav1.NewMicroTime(now.Add(-3 * time.Hour))), RenewTime: &now,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	x := onContested(t, c.way(t, "a"), 110, 30, "--active")
	x.shows("Active mode is refused", "no loop is named that is to write to context", "contested", ":active deployment,replicaset").press("<esc>").shows("0 of 49 running")
	x.press(":active sneeze<enter>").shows("Active mode is refused", "sneeze").press("<esc>").shows("0 of 49 running")

	x.press("/^deployment<enter>").shows("> deployment").press("s").shows("DRY-RUN=CLIENT", "1 of 49 running")
	x.press("L").shows("node-1_real since", "never takes it from a live holder").press("contested<enter>")
	x.shows(" CANDIDATE ", "node-1 leads since 3h").press("7").shows("we are candidate since", "WE WAIT")
	x.press("L").shows("Leave leader election?").press("y").shows("stepped down", "DRY-RUN=CLIENT", "withdrawn at")
	x.press("L").shows("Type the name of the context:").press("contested<enter>").shows(" CANDIDATE ").press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
	if v := rule(c.requests(t), shortDeadline); len(v.terms) != 0 || len(v.writes) != 0 || c.holder(t) != "node-1_real" {
		t.Errorf("a candidate has written: %+v; the lease is held by %q", v, c.holder(t))
	}
}

// TestScreenLosesTheLease holds the renewals up under an active screen: it says so,
// its loops stop, and it observes, for good.
func TestScreenLosesTheLease(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.keepBusy(t, "web-1")
	w := c.way(t, "a")
	x := onContested(t, w, 110, 30, "--controllers=deployment")
	x.shows("DRY-RUN=CLIENT", "1 of 49 running").press("S").shows("Recording to")
	x.press(":active deployment<enter>").shows("Type the name of the context:").press("contested<enter>").shows(" ACTIVE ", "1 of 49 running here, FOR REAL")
	await(t, "it writes", func() bool { return rule(c.requests(t), shortDeadline).writes["a"] > 0 })
	x.press(":deployments<enter>").shows("cache of deployments", "web-1")
	w.set(holdUp)
	x.shows("LEASE LOST", "no more writes").shows("OBSERVING, LEASE LOST")
	w.set(nil)
	v := rule(c.requests(t), shortDeadline)
	// The cache that the loops had is followed still.
	c.deploy(t, "after")
	x.shows("after").press("1").matches(`deployment +off`)
	x.press("7").shows("Our election", "LOST at")
	x.press("L").shows("not now", "a process can lead only once")
	if now := rule(c.requests(t), shortDeadline); now.writes["a"] != v.writes["a"] || len(now.terms) != 1 {
		t.Errorf("after the lease was lost: %+v", now)
	}
	x.press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	w.recordings = append(w.recordings, x.recording())
	checkLate(t, v, w)
}

// recording is the file of the recording that S has begun.
func (x *terminal) recording() string {
	x.t.Helper()
	var home string
	for _, variable := range x.command.Env {
		if dir, found := strings.CutPrefix(variable, "XDG_STATE_HOME="); found {
			home = dir
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "kctl-ctrl", "recordings", "*"))
	if err != nil || len(files) != 1 {
		x.t.Fatalf("recordings: %q, %v", files, err)
	}
	return files[0]
}
