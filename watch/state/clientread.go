package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClientRead says that a client behind this program's proxy reads: a controller
// that 'exec' has started. One is recorded for the first request of its kind, for
// one with another status than the last, for the tenth, the hundredth and so on,
// and at the end for those that were left over. The sum of Count is exact.
type ClientRead struct {
	// Client is the first word of the user agent: what the client calls itself.
	Client string `json:"client"`
	// Verb is get, list, watch, or review for a question such as "may I?".
	Verb string `json:"verb"`
	// Object has the type and the namespace, never a name; the zero Ref stands for
	// what is no resource: discovery, versions, health.
	Object Ref `json:"object"`
	// InitialEvents: a watch that begins with the objects there are, in place of a
	// list.
	InitialEvents bool `json:"initialEvents,omitempty"`
	// Status is that of the answer; zero is none.
	Status int `json:"status,omitempty"`
	// Message says why there was none.
	Message string `json:"message,omitempty"`
	// Count is how many of this kind there were since the last record of it.
	Count uint64 `json:"count"`
	// AtEnd: the session is over, and these requests were made before, since the last
	// record of their kind. None was made at the time of this record.
	AtEnd bool `json:"atEnd,omitempty"`
}

// EventType is the word in a recording.
func (ClientRead) EventType() string { return "ClientRead" }

// describeRead is "watch pods in shop, with what is there, 200".
func describeRead(e ClientRead) string {
	words := []string{e.Verb, "discovery and other paths"}
	if e.Object.Resource != "" {
		words[1] = e.Object.Type()
	}
	if e.Object.Namespace != "" {
		words = append(words, "in", e.Object.Namespace)
	}
	text := strings.Join(words, " ")
	if e.InitialEvents {
		text += ", beginning with what is there,"
	}
	if e.Status != 0 {
		text += " " + strconv.Itoa(e.Status)
	}
	switch {
	case e.AtEnd:
		text += fmt.Sprintf(": %d more since the last line, counted at the end", e.Count)
	case e.Count > 1:
		text += fmt.Sprintf(", %d times since the last line", e.Count)
	}
	return text + prefixIf(e.Message != "", ": ") + e.Message
}

// Failed reports whether the client did not get what it asked for.
func (e ClientRead) Failed() bool { return e.Status == 0 || e.Status >= 400 }

func (f *folder) clientRead(e ClientRead, at time.Time) {
	c := f.controller(e.Client)
	c.Reads += e.Count
	if !e.AtEnd {
		c.LastRead = at
	}
}
