package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func answer() document.Why {
	deployment := state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web"}
	replicaSet := state.Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "web-7c9"}
	quota := state.Ref{Version: "v1", Resource: "resourcequotas", Namespace: "shop", Name: "small"}
	listed := state.Cause{Kind: state.CauseEvent, Object: &replicaSet, Change: state.ChangeListed, NewRV: "12"}
	return document.Why{
		Object: document.OwnedObject{Ref: deployment, Kind: "Deployment"},
		Status: &document.ObjectStatus{Ready: "1/3", State: "FailedCreate", Health: document.HealthFailed},
		Checks: []string{"QuotaExceeded", "ProgressDeadline", "Paused"},
		Findings: []document.Finding{
			{
				Cause: "QuotaExceeded", Text: "ResourceQuota small is used up", Role: document.RoleCause, Certainty: document.Certain, Object: replicaSet, Next: "raise the quota",
				Evidence: []document.Evidence{{Object: quota, Path: "status.used[pods]", Value: "1 of 1"}, {Object: replicaSet, Value: "\x1b[2J pods \u202e forbidden\n::error::x"}},
			},
			{
				Cause: "ProgressDeadline", Text: "no progress within the deadline", Role: document.RoleSymptom, Certainty: document.Certain, Object: deployment,
				Evidence: []document.Evidence{{Object: deployment, Path: "a", Value: "1"}, {Object: deployment, Path: "b", Value: "2"}, {Object: deployment, Path: "c", Value: "3"}, {Object: deployment, Path: "d", Value: "4"}},
			},
			{Cause: "Paused", Text: "it is paused", Role: document.RoleRemark, Certainty: document.Likely, Object: deployment, Next: "resume it"},
		},
		Story: &document.WhyStory{
			Mode: state.ModeDryRunClient, Loops: []string{"replicaset-controller", "namespace-controller"}, Namespace: "shop", Held: 41,
			Syncs: []document.StorySync{
				{
					Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web-7c9", CauseCount: 5, Causes: []state.Cause{listed, listed, listed},
					Writes: []document.StoryWrite{
						{Verb: "create", Object: state.Ref{Resource: "pods", Namespace: "shop", Name: "web-7c9-x"}, Count: 2, Result: state.WriteDry, FirstHop: true},
						{
							Verb: "update", Object: replicaSet, Subresource: "status", Count: 1, Result: state.WriteDry, FirstHop: true,
							Diff: []state.FieldChange{{Path: "status.replicas", Old: "1", New: "3"}, {Path: "b", New: "1"}, {Path: "c", Old: `"` + strings.Repeat("long ", 20) + `"`}, {Path: "d", New: "1"}, {Path: "e", New: "2"}},
						},
					},
				},
				{Controller: "namespace-controller", Queue: "namespace", Key: "shop", Failed: true, Error: "no", Repeat: 2, Writes: []document.StoryWrite{
					{Verb: "deletecollection", Object: state.Ref{Resource: "pods", Namespace: "shop"}, Count: 1, Result: state.WriteDry, FirstHop: true},
					{Verb: "deletecollection", Object: state.Ref{Resource: "secrets", Namespace: "shop"}, Count: 1, Result: state.WriteDry, FirstHop: true},
					{Verb: "deletecollection", Object: state.Ref{Resource: "events", Namespace: "shop"}, Count: 1, Result: state.WriteFailed, Status: 403, Message: "forbidden"},
				}},
				{Controller: "namespace-controller", Queue: "namespace", Key: "shop"},
			},
			Later:  []document.StoryLater{{Controller: "replicaset-controller", Key: "shop/web-7c9", In: "4m10s", Retries: 3}},
			Moving: []string{"replicaset-controller: 1 ready in queue replicaset"}, Left: 4,
		},
	}
}

func why(t testing.TB, y document.Why, opts WhyOptions) string {
	t.Helper()
	var out strings.Builder
	if err := WriteWhy(&out, y, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWhy(t *testing.T) {
	checkGolden(t, "why/terminal.txt", why(t, answer(), WhyOptions{}))
	checkGolden(t, "why/wide.txt", why(t, answer(), WhyOptions{Wide: true}))

	well := answer()
	well.Findings, well.Story = nil, &document.WhyStory{Mode: state.ModeDryRunClient, Loops: []string{"deployment-controller"}}
	well.Status = &document.ObjectStatus{Ready: "3/3", State: "Available", Health: document.HealthReady}
	checkGolden(t, "why/well.txt", why(t, well, WhyOptions{}))

	unknown := answer()
	unknown.Findings, unknown.Status, unknown.Gaps = nil, nil, []document.ReadGap{{Type: "pods"}}
	unknown.Story = &document.WhyStory{Why: "No loop of kube-controller-manager decides about pods."}
	checkGolden(t, "why/unknown.txt", why(t, unknown, WhyOptions{}))
}

// The first finding alone begins a line: whoever reads one line reads it.
func TestWhyTextOfOthersIsInert(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		evil := rapid.StringOf(rapid.RuneFrom([]rune("a\x1b\x07\u009b\u202e\n:[]"))).Draw(r, "text")
		y := answer()
		y.Object.Name = evil
		y.Findings[0].Text, y.Findings[0].Next, y.Findings[0].Evidence[0].Value = evil, evil, evil
		y.Story.Syncs[0].Key, y.Story.Syncs[1].Error, y.Story.Syncs[0].Writes[0].Object.Name, y.Story.Why = evil, evil, evil, evil
		text := why(t, y, WhyOptions{Wide: true})
		for _, c := range text {
			if c != '\n' && !state.Printable(c) {
				r.Fatalf("%q in %q", c, text)
			}
		}
		if strings.Count(text, "\n") != strings.Count(why(t, answer(), WhyOptions{Wide: true}), "\n")+1 && evil != "" {
			r.Fatalf("text of others made a line: %q", text)
		}
	})
}
