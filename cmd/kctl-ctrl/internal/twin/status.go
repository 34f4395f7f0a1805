package twin

import "slices"

// volatile are fields of a status, at any depth, that differ from run to run: addresses,
// counters of tries, sentences with them, and who wrote first.
var volatile = []string{
	"podIP", "podIPs", "hostIP", "hostIPs", "containerID", "imageID", "message", "collisionCount", "currentRevision", "updateRevision",
	"certificate", "containerStatuses", "volumesInUse",
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
		return kept
	default:
		return status
	}
}
