package state

import "fmt"

// EventText is what a Kubernetes Event says of the object that it is about.
type EventText struct {
	// Type is Normal or Warning, Reason a word such as FailedScheduling.
	Type   string `json:"type,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Message is cut where it is long, and withheld of a Secret.
	Message string `json:"message,omitempty"`
	// Count is how often it has been seen, where the Event says so.
	Count int `json:"count,omitempty"`
}

// Head is type and reason: "Warning FailedScheduling, 3 times".
func (t EventText) Head() string {
	text := t.Type + prefixIf(t.Type != "" && t.Reason != "", " ") + t.Reason
	if t.Count > 1 {
		text += fmt.Sprintf(", %d times", t.Count)
	}
	return text
}

// About is the object of which a write of an Event tells; false for other writes,
// and where the Event does not say it.
func (e WriteFinished) About() (Ref, bool) {
	if e.Object.Resource != "events" || e.Object.Group != "" && e.Object.Group != "events.k8s.io" {
		return Ref{}, false
	}
	if e.Cause.Kind != CauseUnknown || e.Cause.Object == nil {
		return Ref{}, false
	}
	return *e.Cause.Object, true
}

// told is what the description of a write says of its Event.
func (e WriteFinished) told() string {
	text := ""
	if about, ok := e.About(); ok {
		text = ", about " + about.String()
	}
	if e.Tells == nil {
		return text
	}
	head := e.Tells.Head()
	return text + prefixIf(head != "", ": ") + head + prefixIf(e.Tells.Message != "", ": ") + e.Tells.Message
}
