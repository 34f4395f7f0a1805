package twin

import (
	"encoding/json"
	"slices"
	"strings"
)

// volatile are fields of a status, at any depth, that differ from run to run: addresses,
// counters of tries, sentences with them, and who wrote first.
var volatile = []string{
	"podIP", "podIPs", "hostIP", "hostIPs", "containerID", "imageID", "message", "collisionCount", "currentRevision", "updateRevision",
	"certificate", "containerStatuses", "volumesInUse", "resourceVersion",
}

// Settled is a status without what differs from run to run.
func Settled(status any) any {
	switch status := status.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range status {
			if !slices.Contains(volatile, key) {
				kept[key] = Settled(value)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(status))
		for i, value := range status {
			kept[i] = Settled(value)
		}
		// Lists of a status are sets: who came first is first.
		slices.SortFunc(kept, func(a, b any) int {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return strings.Compare(string(x), string(y))
		})
		return kept
	default:
		return status
	}
}

// Alike returns what one of several alike pods of an owner is called, and takes its own
// name out of the content; it returns "" for all other objects.
func Alike(kind string, content map[string]any) string {
	metadata, _ := content["metadata"].(map[string]any)
	owners, _ := metadata["ownerReferences"].([]any)
	if kind != "Pod" {
		return ""
	}
	for _, o := range owners {
		owner, _ := o.(map[string]any)
		of, _ := owner["kind"].(string)
		name, _ := owner["name"].(string)
		if controller, _ := owner["controller"].(bool); controller {
			if pattern := member("pods", of+"/"+name); pattern != "" {
				delete(metadata, "name")
				return pattern
			}
		}
	}
	return ""
}
