package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustParse(t *testing.T, text string) []Object {
	t.Helper()
	objects, problems := parse("x.yaml", []byte(text))
	if problems != nil {
		t.Fatal(problems)
	}
	return objects
}

func outcomes(a *Applied) []string {
	var out []string
	for _, r := range a.Results {
		out = append(out, fmt.Sprintf("%s %s", r.Action, describe(r.object())))
	}
	return out
}

func wantLines(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if text := strings.Join(got, "\n"); text != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, text, strings.TrimSpace(want))
	}
}

const oneOfEach = `
apiVersion: example.com/v1
kind: Backup
metadata: {name: nightly}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: shop}
spec: {schedule: "30 3 * * *", jobTemplate: {metadata: {labels: {a: b}}, spec: {template: {}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: from-elsewhere, resourceVersion: "1"}
status: {replicas: 7}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: shop, namespace: shop}
spec: {hard: {cpu: "2"}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec: {group: example.com, names: {kind: Backup, plural: backups}, versions: [{name: v1, served: true}, {name: v0, served: false}]}
`

func TestApplyOrder(t *testing.T) {
	s, cluster := newFakeServer(t)
	applied, err := cluster.Apply(t.Context(), mustParse(t, oneOfEach), Options{At: time.Date(2026, 5, 1, 3, 30, 20, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "results", outcomes(applied), `
created CustomResourceDefinition backups.example.com
implied Namespace default
implied Namespace shop
created ResourceQuota shop/shop
created ConfigMap shop/web
created Backup default/nightly
created Deployment shop/web
created CronJob shop/report`)
	// Requests of one phase go out together; their order is nobody's.
	phase := slices.Index(s.writes, "apply customresourcedefinitions/backups.example.com")
	slices.Sort(s.writes[phase+1 : phase+3])
	wantLines(t, "writes", s.writes, `
apply customresourcedefinitions/backups.example.com
apply namespaces/default
apply namespaces/shop
apply resourcequotas/shop/shop
apply configmaps/web/shop
apply backups/nightly/default
apply deployments/web/shop
apply cronjobs/report/shop
create jobs/report-29626770/shop`)
	if len(applied.Warnings) != 8 || !slices.IsSorted(applied.Warnings) {
		t.Errorf("warnings: %q", applied.Warnings)
	}
	web := s.objects["deployments/web/shop"]
	if web["status"] != nil || uidOf(web) == "from-elsewhere" {
		t.Errorf("sent what only a server writes: %v", web)
	}
	if s.objects["cronjobs/report/shop"]["spec"].(map[string]any)["suspend"] != true {
		t.Error("the CronJob was not suspended")
	}
	if len(applied.Fired) != 1 || describe(applied.Fired[0].After) != "Job shop/report-29626770" {
		t.Errorf("fired %v", applied.Fired)
	}

	// Again: nothing changes, and implied namespaces are there already.
	again, err := cluster.Apply(t.Context(), mustParse(t, oneOfEach), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range again.Results {
		if r.Action != Unchanged || r.Before == nil {
			t.Errorf("second apply: %s %s", r.Action, describe(r.object()))
		}
	}
	if len(again.Results) != 6 {
		t.Errorf("second apply: %q", outcomes(again))
	}
}

func TestApplyReportsEveryProblem(t *testing.T) {
	s, cluster := newFakeServer(t)
	s.reject = func(path string, _ map[string]any) (int32, string) {
		if strings.HasPrefix(path, "configmaps/bad") {
			return 422, `ConfigMap "bad" is invalid: data: no`
		}
		return 0, ""
	}
	applied, err := cluster.Apply(t.Context(), mustParse(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: bad}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
---
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: web}
---
apiVersion: batch/v1beta1
kind: CronJob
metadata: {name: old}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good, namespace: default}
`), Options{})
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v", err)
	}
	wantLines(t, "problems", strings.Split(err.Error(), "\n"), `
x.yaml:2: ConfigMap default/bad: rejected by the API server: ConfigMap "bad" is invalid: data: no
x.yaml:6: Rollout web: unknown kind: the CustomResourceDefinition of Rollout.argoproj.io (rollouts.argoproj.io) is missing; add it to the manifests
x.yaml:10: Ingress web: the API server has no Ingress in extensions/v1beta1, but in networking.k8s.io/v1
x.yaml:14: CronJob old: the API server does not serve CronJob as batch/v1beta1, only as batch/v1
x.yaml:22: ConfigMap default/good: duplicate object, first at x.yaml:18`)
	if !slices.Contains(outcomes(applied), "created ConfigMap default/good") {
		t.Errorf("what is good was not applied: %q", outcomes(applied))
	}
}

// Admission lags behind what Apply has waited for; that is not the user's
// problem.
func TestApplyTriesAgainWhatIsNotYetAllowed(t *testing.T) {
	s, cluster := newFakeServer(t)
	refused := 0
	s.reject = func(path string, _ map[string]any) (int32, string) {
		if strings.HasPrefix(path, "pods/") && refused < 2 {
			refused++
			return 403, `pods "a" is forbidden: status unknown for quota: shop, resources: cpu`
		}
		return 0, ""
	}
	applied, err := cluster.Apply(t.Context(), mustParse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), Options{})
	if err != nil || refused != 2 || !slices.Contains(outcomes(applied), "created Pod default/a") {
		t.Errorf("%v after %d refusals: %v", outcomes(applied), refused, err)
	}
}

func TestApplyGivesUp(t *testing.T) {
	s, cluster := newFakeServer(t)
	s.reject = func(string, map[string]any) (int32, string) { return 403, "status unknown for quota: x" }
	_, err := cluster.Apply(t.Context(), mustParse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"),
		Options{Timeout: 50 * time.Millisecond, NoServiceAccountWait: true})
	if err == nil || !strings.Contains(err.Error(), "gave up after 50ms") {
		t.Errorf("%v", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the user left"))
	if _, err := cluster.Apply(ctx, mustParse(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"), Options{}); err == nil || !strings.Contains(err.Error(), "the user left") {
		t.Errorf("a cancelled apply ended with %v", err)
	}
}

func TestDelete(t *testing.T) {
	s, cluster := newFakeServer(t)
	before, err := cluster.Apply(t.Context(), mustParse(t, oneOfEach+`
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: gone}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := cluster.Apply(t.Context(), mustParse(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.writes = nil
	delete(s.objects, "configmaps/web/shop")
	deleted, err := cluster.Delete(t.Context(), Removed(before, after))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "results", outcomes(deleted), `
deleted CronJob shop/report
deleted Backup default/nightly
deleted ConfigMap shop/web
deleted ResourceQuota shop/shop
deleted Namespace gone
deleted CustomResourceDefinition backups.example.com`)
	if slices.Contains(s.writes, "delete namespaces/shop") || slices.Contains(s.writes, "delete deployments/web/shop") {
		t.Errorf("deleted what is still in use: %q", s.writes)
	}
}

func TestCapture(t *testing.T) {
	s, cluster := newFakeServer(t)
	if _, err := cluster.Apply(t.Context(), mustParse(t, oneOfEach), Options{}); err != nil {
		t.Fatal(err)
	}
	s.objects["events/x/shop"] = map[string]any{"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": "x"}}
	captured, err := cluster.Capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range captured.Objects {
		got = append(got, o.Resource+" "+describe(o.Content))
	}
	wantLines(t, "captured", got, `
namespaces Namespace default
namespaces Namespace shop
customresourcedefinitions CustomResourceDefinition backups.example.com
backups Backup default/nightly
configmaps ConfigMap shop/web
resourcequotas ResourceQuota shop/shop
serviceaccounts ServiceAccount shop/default
deployments Deployment shop/web
cronjobs CronJob shop/report`)
}
