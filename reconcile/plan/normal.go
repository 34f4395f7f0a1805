package plan

// Normal is an object without what differs between runs.
type Normal struct {
	// Group, Kind and Namespace are the object's; Name, too: Pattern is the name with
	// "*" for generated parts.
	Group, Kind, Namespace, Name, Pattern string
	// Health is the plan's description of its health: "2/2 ready".
	Health string
	// Content is as Compare compares it; Status is the status without times, for all
	// types.
	Content map[string]any
	Status  any
}

// Normalise returns the objects of a state as Compare sees them, sorted by identity.
// Two clusters have equal states if their results are equal.
func Normalise(s State) []Normal {
	w := newWorld(Input{End: s})
	out := make([]Normal, 0, len(w.items))
	for _, i := range w.items {
		n := Normal{
			Group: i.group, Kind: i.kind, Namespace: i.namespace, Name: i.name, Pattern: i.pattern,
			Health: statusOf([]*item{i}, false), Content: w.normal(i, i.end),
		}
		if status, ok := i.end["status"].(map[string]any); ok {
			n.Status = withoutTimes(w.scrub.value(status))
		}
		out = append(out, n)
	}
	return out
}
