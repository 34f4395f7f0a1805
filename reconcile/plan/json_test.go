package plan

import (
	"strings"
	"testing"
)

// JSON that YAML does not read is read as JSON.
func TestLoadReadsAllJSON(t *testing.T) {
	const head = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"text":`
	for text, want := range map[string]string{
		`"\ud83d\ude80 up"`:      "🚀 up",
		`"\\ud83d \uD83D\uDE80"`: `\ud83d 🚀`,
		`"a lone \ud83d"`:        "a lone \ufffd",
		"\"bare \u007f \u0080\"": "bare \u007f \u0080",
		`"a\/b"`:                 "a/b",
	} {
		objects, problems := parse("c.json", []byte(head+text+"}}\n"+head+`"plain"}}`))
		if len(problems) > 0 || len(objects) != 2 {
			t.Errorf("%s: %v", text, problems)
			continue
		}
		data, _ := objects[0].Object["data"].(map[string]any)
		if data["text"] != want {
			t.Errorf("%s was read as %q", text, data["text"])
		}
		if objects[1].Source.Line != 2 {
			t.Errorf("%s: the second object is at line %d", text, objects[1].Source.Line)
		}
	}
	_, problems := parse("c.json", []byte(head+"\"\\ud83d\\ude80\",\n\"text\":\"twice\"}}"))
	if len(problems) != 1 || !strings.Contains(problems.Error(), "broken") && !strings.Contains(problems.Error(), "twice") {
		t.Errorf("a key given twice: %v", problems)
	}
}
