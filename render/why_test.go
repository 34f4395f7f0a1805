package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func answer() state.Why {
	deployment := state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web"}
	replicaSet := state.Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "web-7c9"}
	quota := state.Ref{Version: "v1", Resource: "resourcequotas", Namespace: "shop", Name: "small"}
	listed := state.Cause{Kind: state.CauseEvent, Object: &replicaSet, Change: state.ChangeListed, NewRV: "12"}
	return state.Why{
		Object: state.OwnedObject{Ref: deployment, Kind: "Deployment"},
		Status: &state.ObjectStatus{Ready: "1/3", State: "FailedCreate", Health: state.HealthFailed},
		Checks: []string{"QuotaExceeded", "ProgressDeadline", "Paused"},
		Findings: []state.Finding{
			{
				Cause: "QuotaExceeded", Text: "ResourceQuota small is used up", Role: state.RoleCause, Certainty: state.Certain, Object: replicaSet, Next: "raise the quota",
				Evidence: []state.Evidence{{Object: quota, Path: "status.used[pods]", Value: "1 of 1"}, {Object: replicaSet, Value: "\x1b[2J pods \u202e forbidden\n::error::x"}},
			},
			{
				Cause: "ProgressDeadline", Text: "no progress within the deadline", Role: state.RoleSymptom, Certainty: state.Certain, Object: deployment,
				Evidence: []state.Evidence{{Object: deployment, Path: "a", Value: "1"}, {Object: deployment, Path: "b", Value: "2"}, {Object: deployment, Path: "c", Value: "3"}, {Object: deployment, Path: "d", Value: "4"}},
			},
			{Cause: "Paused", Text: "it is paused", Role: state.RoleRemark, Certainty: state.Likely, Object: deployment, Next: "resume it"},
		},
		Story: &state.WhyStory{
			Mode: state.ModeDryRunClient, Loops: []string{"replicaset-controller", "namespace-controller"}, Namespace: "shop", Held: 41,
			Syncs: []state.StorySync{
				{
					Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web-7c9", CauseCount: 5, Causes: []state.Cause{listed, listed, listed},
					Writes: []state.StoryWrite{
						{Verb: "create", Object: state.Ref{Resource: "pods", Namespace: "shop", Name: "web-7c9-x"}, Count: 2, Result: state.WriteDry, FirstHop: true},
						{
							Verb: "update", Object: replicaSet, Subresource: "status", Count: 1, Result: state.WriteDry, FirstHop: true,
							Diff: []state.FieldChange{{Path: "status.replicas", Old: "1", New: "3"}, {Path: "b", New: "1"}, {Path: "c", Old: `"` + strings.Repeat("long ", 20) + `"`}, {Path: "d", New: "1"}, {Path: "e", New: "2"}},
						},
					},
				},
				{Controller: "namespace-controller", Queue: "namespace", Key: "shop", Failed: true, Error: "no", Repeat: 2, Writes: []state.StoryWrite{
					{Verb: "deletecollection", Object: state.Ref{Resource: "pods", Namespace: "shop"}, Count: 1, Result: state.WriteDry, FirstHop: true},
					{Verb: "deletecollection", Object: state.Ref{Resource: "secrets", Namespace: "shop"}, Count: 1, Result: state.WriteDry, FirstHop: true},
					{Verb: "deletecollection", Object: state.Ref{Resource: "events", Namespace: "shop"}, Count: 1, Result: state.WriteFailed, Status: 403, Message: "forbidden"},
				}},
				{Controller: "namespace-controller", Queue: "namespace", Key: "shop"},
			},
			Later:  []state.StoryLater{{Controller: "replicaset-controller", Key: "shop/web-7c9", In: "4m10s", Retries: 3}},
			Moving: []string{"replicaset-controller: 1 ready in queue replicaset"}, Left: 4,
		},
	}
}

func why(t testing.TB, y state.Why, opts WhyOptions) string {
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
	well.Findings, well.Story = nil, &state.WhyStory{Mode: state.ModeDryRunClient, Loops: []string{"deployment-controller"}}
	well.Status = &state.ObjectStatus{Ready: "3/3", State: "Available", Health: state.HealthReady}
	checkGolden(t, "why/well.txt", why(t, well, WhyOptions{}))

	unknown := answer()
	unknown.Findings, unknown.Status, unknown.Gaps = nil, nil, []state.ReadGap{{Type: "pods"}}
	unknown.Story = &state.WhyStory{Why: "No loop of kube-controller-manager decides about pods."}
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
