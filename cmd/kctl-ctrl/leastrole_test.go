//go:build leastrole

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// denied is how a missing right shows in what the program prints.
var denied = regexp.MustCompile(`forbidden|lacks the right|you may not|no permission| 403( |$)`)

// A leastUse is a use of the program that the printed role is for.
type leastUse struct {
	name string
	// flags are rbac's.
	flags []string
	// play uses the program as the account and returns what it printed. n is
	// different each time.
	play func(c *leastCluster, n int) string
	// unseen are rules whose absence nothing shows here, by what they are
	// about, with the reason.
	unseen map[string]string
}

func leastUses() []leastUse {
	loops := "--controllers=deployment,replicaset"
	const noLease = "it is read where there is no Lease; see TestCheckLease of package election"
	const elsewhere = "it is for an election, which a sandbox needs none of; see the next use"
	return []leastUse{{
		name: "dry-run", flags: []string{loops},
		play: func(c *leastCluster, n int) string { return c.runTwice(n, "run", loops) },
	}, {
		name: "dry-run with accounts", flags: []string{loops, "--impersonate-controllers"},
		play: func(c *leastCluster, n int) string { return c.runTwice(n, "run", loops, "--impersonate-controllers") },
	}, {
		name: "informers and cache", flags: []string{"--mode=observe", "--verbs=informers,cache,queues", loops},
		play: func(c *leastCluster, _ int) string {
			return c.run("get", "informers", loops, "--attach=none", "--for=1s") +
				c.run("cache", "deployment/web", loops, "--attach=none", "--for=1s", "-n", "default") +
				c.run("get", "queues", loops, "--attach=none", "--for=1s")
		},
	}, {
		name: "leases", flags: []string{"--mode=observe", "--verbs=leases"},
		play: func(c *leastCluster, _ int) string { return c.run("get", "leases", "-A", "-o", "wide") },
	}, {
		name: "revisions", flags: []string{"--mode=observe", "--verbs=revisions"},
		play: func(c *leastCluster, _ int) string {
			return c.run("revisions", "statefulset/db") + c.run("revisions", "daemonset/agent") + c.run("revisions", "deployment/web")
		},
	}, {
		name: "owners", flags: []string{"--mode=observe", "--verbs=tree,cascade,why"},
		play: func(c *leastCluster, _ int) string {
			return c.run("tree", "statefulset/db") + c.run("cascade", "statefulset/db") + c.run("why", "replicaset/by-hand")
		},
	}, {
		name: "active", flags: []string{loops, "--mode=active"},
		play: func(c *leastCluster, n int) string {
			c.deploy(fmt.Sprintf("active-%d", n), 1)
			return c.run("run", loops, "--active", "--until-settled", "--timeout=15s", "--horizon=1s")
		},
		unseen: map[string]string{
			"leases.coordination.k8s.io": elsewhere, "leases.coordination.k8s.io kube-controller-manager": elsewhere,
			"configmaps kube-root-ca.crt": elsewhere,
		},
	}, {
		// Here it is the preflight that denies.
		name: "active with an election", flags: []string{loops, "--mode=active"},
		play: func(c *leastCluster, n int) string {
			c.deploy(fmt.Sprintf("elected-%d", n), 1)
			return c.run("run", loops, "--active", "--leader-elect", "--confirm=kctl-ctrl-sandbox", "--no-wait",
				"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s",
				"--until-settled", "--timeout=15s", "--horizon=1s")
		},
		unseen: map[string]string{"configmaps kube-root-ca.crt": noLease},
	}, {
		name: "scheduler", flags: []string{"--scheduler"},
		play: func(c *leastCluster, _ int) string {
			return c.run("run", "--scheduler", "--until-settled", "--timeout=15s", "--horizon=1s")
		},
	}, {
		name: "scheduler with an election", flags: []string{"--scheduler", "--mode=active"},
		play: func(c *leastCluster, _ int) string {
			return c.run("run", "--scheduler", "--active", "--leader-elect", "--confirm=kctl-ctrl-sandbox", "--no-wait",
				"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=1s",
				"--until-settled", "--timeout=15s", "--horizon=1s")
		},
		unseen: map[string]string{"configmaps kube-root-ca.crt": noLease},
	}}
}

// TestLeastRole runs each use with exactly the printed role, where nothing may be
// denied, and then without each of its rules in turn, where something must be.
func TestLeastRole(t *testing.T) {
	c := startLeastCluster(t)
	n := 0
	for _, use := range leastUses() {
		t.Run(use.name, func(t *testing.T) {
			c.T = t
			items := c.roles(use.flags)
			n++
			c.as(items, n)
			if said := use.play(c, n); denied.MatchString(said) {
				t.Fatalf("denied with the whole role: %s\n%s", denied.FindString(said), said)
			}
			for i := range items {
				for j := range items[i].Rules {
					less := slices.Clone(items)
					less[i].Rules = slices.Delete(slices.Clone(items[i].Rules), j, j+1)
					rule := items[i].Rules[j]
					what := strings.Split(items[i].Annotations["kctl-ctrl.dev/needed-by"], "\n")[j]
					if reason := unseenFor(use.unseen, what); reason != "" {
						t.Logf("not tried without %q: %s", what, reason)
						continue
					}
					n++
					c.as(less, n)
					if said := use.play(c, n); !denied.MatchString(said) {
						t.Errorf("nothing is denied without %v\n%s", rule, said)
					} else {
						t.Logf("without %q: %s", what, denied.FindString(said))
					}
				}
			}
		})
	}
}

func unseenFor(unseen map[string]string, what string) string {
	for rule, reason := range unseen {
		if strings.Contains(what, " "+rule+": ") {
			return reason
		}
	}
	return ""
}

// leastCluster is a sandbox and an account with a role.
type leastCluster struct {
	*testing.T
	kubeconfig string
	client     kubernetes.Interface
	token      string
}

func startLeastCluster(t *testing.T) *leastCluster {
	c := &leastCluster{T: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	sandbox := program(t, "sandbox", "--nodes=1", "--controllers=*,-deployment,-replicaset", "--", "sh", "-c", `cp "$KUBECONFIG" "$0" && echo there && cat`, c.kubeconfig)
	// The processes of this test find nobody to look into.
	sandbox.Env = append(sandbox.Env, "KCTL_CTRL_ATTACH_DIR="+t.TempDir())
	sandbox.Cancel = nil
	in, err := sandbox.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sandbox.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = sandbox.Wait()
	})
	programtest.Until(t, bufio.NewScanner(out), "there")
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	// A controller manager and a scheduler have worked here, and given their leases back.
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		_, err = c.client.CoordinationV1().Leases("kube-system").Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		c.must(err)
	}
	c.deploy("web", 2)
	labels := map[string]string{"app": "x"}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := podTemplate(labels)
	apps := c.client.AppsV1()
	_, err = apps.StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: meta("db"), Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	c.must(err)
	_, err = apps.DaemonSets("default").Create(t.Context(), &appsv1.DaemonSet{ObjectMeta: meta("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	c.must(err)
	_, err = apps.ReplicaSets("default").Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: meta("by-hand"), Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{})
	c.must(err)
	return c
}

func podTemplate(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "registry.example/x:1"}}},
	}
}

func (c *leastCluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *leastCluster) deploy(name string, replicas int32) {
	c.Helper()
	labels := map[string]string{"app": name}
	_, err := c.client.AppsV1().Deployments("default").Create(context.Background(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(labels),
		},
	}, metav1.CreateOptions{})
	c.must(err)
}

// roles are those that rbac prints. A Role and a ClusterRole have the same fields.
func (c *leastCluster) roles(flags []string) []rbacv1.Role {
	c.Helper()
	out, err := program(c.T, append([]string{"rbac", "--offline", "-o", "json"}, flags...)...).Output()
	c.must(err)
	var list struct{ Items []rbacv1.Role }
	c.must(json.Unmarshal(out, &list))
	return list.Items
}

// as makes an account with these roles, and waits until the server knows of them.
func (c *leastCluster) as(roles []rbacv1.Role, n int) {
	c.Helper()
	ctx, name := context.Background(), fmt.Sprintf("account-%d", n)
	meta := metav1.ObjectMeta{Name: name}
	_, err := c.client.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	c.must(err)
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name}}
	rbac := c.client.RbacV1()
	for _, role := range roles {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: name}
		if role.Kind == "ClusterRole" {
			_, err = rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{})
			c.must(err)
			_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
		} else {
			_, err = rbac.Roles(role.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{})
			c.must(err)
			_, err = rbac.RoleBindings(role.Namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, metav1.CreateOptions{})
		}
		c.must(err)
	}
	token, err := c.client.CoreV1().ServiceAccounts("default").CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	c.must(err)
	c.token = token.Status.Token
	for _, role := range roles {
		c.wait(role, name)
	}
}

// wait returns when the authorizer knows all rules of a role.
func (c *leastCluster) wait(role rbacv1.Role, name string) {
	c.Helper()
	for _, rule := range role.Rules {
		attributes := &authorizationv1.ResourceAttributes{
			Namespace: role.Namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0],
		}
		attributes.Resource, attributes.Subresource, _ = strings.Cut(rule.Resources[0], "/")
		if len(rule.ResourceNames) > 0 {
			attributes.Name = rule.ResourceNames[0]
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:default:" + name, ResourceAttributes: attributes,
		}}
		within := time.Now().Add(30 * time.Second)
		for {
			answer, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(context.Background(), review, metav1.CreateOptions{})
			c.must(err)
			if answer.Status.Allowed {
				break
			}
			if time.Now().After(within) {
				c.Fatalf("the server does not know of %v", rule)
			}
		}
	}
}

// command is the program as the account.
func (c *leastCluster) command(args ...string) *exec.Cmd {
	command := program(c.T, append(args, "--kubeconfig="+c.kubeconfig, "--token="+c.token)...)
	command.Env = append(command.Env, "KCTL_CTRL_ATTACH_DIR="+filepath.Dir(c.kubeconfig))
	return command
}

// run returns all that the program prints; its exit code is not looked at.
func (c *leastCluster) run(args ...string) string {
	out, _ := c.command(args...).CombinedOutput()
	return string(out)
}

// runTwice has the dry loops write the same twice, and so the same event: its
// second record is a patch, which the guard answers from a GET. It ends when that
// is seen, or something is denied.
func (c *leastCluster) runTwice(n int, args ...string) string {
	c.Helper()
	command := c.command(append(args, "-v")...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.StdoutPipe()
	c.must(err)
	c.must(command.Start())
	var said strings.Builder
	touched, patched := false, false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		said.WriteString(line + "\n")
		patched = patched || strings.Contains(line, "patch events default/web.")
		if denied.MatchString(line) || patched {
			break
		}
		if !touched && strings.Contains(line, "create replicasets.apps default/web-") {
			touched = true
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, n)
			_, err := c.client.AppsV1().Deployments("default").Patch(context.Background(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			c.must(err)
		}
	}
	_ = command.Process.Signal(os.Interrupt)
	_, _ = io.Copy(&said, out)
	_ = command.Wait()
	if all := said.String() + stderr.String(); patched || denied.MatchString(all) {
		return all
	}
	c.Fatalf("no event was patched\n%s%s", said.String(), stderr.String())
	return ""
}
