package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestJobDue(t *testing.T) {
	at := time.Date(2026, 5, 1, 3, 30, 40, 0, time.UTC)
	for _, test := range []struct {
		spec, manifest string
		due            bool
		annotation     string
	}{
		{"schedule: '30 3 * * *'", "", true, "2026-05-01T03:30:00Z"},
		{"schedule: '31 3 * * *'", "", false, ""},
		{"schedule: '29 3 * * *'", "", false, ""},
		{"schedule: '* * * * *'", "", true, "2026-05-01T03:30:00Z"},
		{"schedule: '@daily'", "", false, ""},
		{"{schedule: '30 5 * * *', timeZone: Europe/Berlin}", "", true, "2026-05-01T05:30:00+02:00"},
		{"{schedule: '30 3 * * *', timeZone: Europe/Berlin}", "", false, ""},
		{"schedule: 'TZ=Europe/Berlin 30 5 * * *'", "", true, "2026-05-01T03:30:00Z"},
		{"schedule: '30 3 * * *'", "suspend: true", false, ""},
	} {
		parsed := mustParse(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: report, namespace: shop, uid: u}\nspec: "+flow(test.spec))
		manifest := mustParse(t, "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: report, namespace: shop}\nspec: "+flow(test.manifest))
		after := parsed[0].Object
		if err := unstructured.SetNestedMap(after, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"backoffLimit": int64(2)}}, "spec", "jobTemplate"); err != nil {
			t.Fatal(err)
		}
		job, err := jobDue(Result{Manifest: manifest[0].Object, After: after}, at)
		if err != nil || (job != nil) != test.due {
			t.Errorf("%s: %v %v", test.spec, job, err)
			continue
		}
		if job == nil {
			continue
		}
		if job.GetName() != "report-29626770" || job.GetAnnotations()[scheduledAnnotation] != test.annotation || job.GetLabels()["a"] != "b" ||
			job.GetOwnerReferences()[0].UID != "u" || !*job.GetOwnerReferences()[0].Controller || number(job.Object, "spec", "backoffLimit") != 2 {
			t.Errorf("%s: %v", test.spec, job.Object)
		}
	}
	if _, err := jobDue(Result{After: map[string]any{"spec": map[string]any{"schedule": "never"}}}, at); err == nil {
		t.Error("a schedule that cannot be read was taken")
	}
}

func flow(fields string) string {
	if strings.HasPrefix(fields, "{") {
		return fields
	}
	return "{" + fields + "}"
}
