package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// eventTypes is the closed table of what a recording can hold: the word in the
// file, and how its body is read. A new event needs a row here; the tests fail
// until it has one.
var eventTypes = map[string]func([]byte) (Event, error){
	"SessionStarted":    decodeAs[SessionStarted],
	"ControllerChanged": decodeAs[ControllerChanged],
	"InformerChanged":   decodeAs[InformerChanged],
	"ObjectChanged":     decodeAs[ObjectChanged],
	"KeyAdded":          decodeAs[KeyAdded],
	"KeyReady":          decodeAs[KeyReady],
	"KeyTaken":          decodeAs[KeyTaken],
	"KeyFinished":       decodeAs[KeyFinished],
	"KeyForgotten":      decodeAs[KeyForgotten],
	"KeyDropped":        decodeAs[KeyDropped],
	"QueueStalled":      decodeAs[QueueStalled],
	"WriteFinished":     decodeAs[WriteFinished],
	"LeaseChanged":      decodeAs[LeaseChanged],
	"ClientRead":        decodeAs[ClientRead],
	"ElectionChanged":   decodeAs[ElectionChanged],
	"Gap":               decodeAs[Gap],
	"Dropped":           decodeAs[Dropped],
	"Note":              decodeAs[Note],
	"Checkpoint":        decodeAs[Checkpoint],

	"ControllerRequested": decodeAs[ControllerRequested],
	"PauseChanged":        decodeAs[PauseChanged],
	"BreakpointChanged":   decodeAs[BreakpointChanged],
	"BreakpointHit":       decodeAs[BreakpointHit],
	"BreakpointReleased":  decodeAs[BreakpointReleased],
	"KeyStepped":          decodeAs[KeyStepped],
	"KeyRetried":          decodeAs[KeyRetried],
	"WriteHeld":           decodeAs[WriteHeld],
	"WriteDecided":        decodeAs[WriteDecided],
	"ApprovalGiven":       decodeAs[ApprovalGiven],
	"ApprovalsWithdrawn":  decodeAs[ApprovalsWithdrawn],
	"BreakerChanged":      decodeAs[BreakerChanged],
	"ActiveChanged":       decodeAs[ActiveChanged],
	"ControlsRestated":    decodeAs[ControlsRestated],
}

func decodeAs[E Event](body []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	return e, nil
}

// Unknown is an event that this version of the program cannot read: written by
// a later one, or damaged. It keeps its place in the journal and is counted by
// Fold; encoding it again gives back what was read.
type Unknown struct {
	// Type is the word that the recording has for it; empty where the line
	// itself could not be read.
	Type string
	// Body is the event's JSON as it was read, or nil.
	Body json.RawMessage
	// Problem says why it could not be read.
	Problem string
}

// EventType is the word found in the recording, or "Unknown".
func (u Unknown) EventType() string {
	if u.Type == "" {
		return "Unknown"
	}
	return u.Type
}

// MarshalJSON gives back the body as it was read.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.Body) == 0 {
		return []byte("{}"), nil
	}
	return u.Body, nil
}

// envelope is an Entry in a file.
type envelope struct {
	Seq   uint64          `json:"seq"`
	At    time.Time       `json:"at"`
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"`
}

// EncodeEntry gives an entry as one line of JSON, without the newline:
//
//	{"seq":1,"at":"2026-01-02T15:04:05.000000006Z","type":"KeyAdded","event":{…}}
//
// Times are RFC 3339 in UTC with nanoseconds. Durations are Go's duration
// strings ("1.5s", "40ms"), which hold every nanosecond. Text is UTF-8;
// characters that could act on a terminal, and commands to the runner of a CI
// system, are \u-escaped, so that a recording may be looked at with cat. Invalid
// UTF-8 becomes U+FFFD.
func EncodeEntry(e Entry) ([]byte, error) {
	if e.Event == nil {
		return nil, fmt.Errorf("encode entry %d: it has no event", e.Seq)
	}
	body, err := Marshal(e.Event)
	if err != nil {
		return nil, fmt.Errorf("encode entry %d, a %s: %w", e.Seq, e.Event.EventType(), err)
	}
	line, err := Marshal(envelope{Seq: e.Seq, At: e.At.UTC(), Type: e.Event.EventType(), Event: body})
	if err != nil {
		return nil, fmt.Errorf("encode entry %d, a %s: %w", e.Seq, e.Event.EventType(), err)
	}
	return EscapeJSON(line), nil
}

// DecodeEntry reads what EncodeEntry wrote. An event of an unknown type, or one
// whose body does not fit its type, becomes an Unknown event; fields it does
// not know are left out. Only a line that is not an entry at all is an error.
func DecodeEntry(line []byte) (Entry, error) {
	var env envelope
	if err := json.Unmarshal(line, &env); err != nil {
		return Entry{}, fmt.Errorf("decode journal entry: %w", err)
	}
	if env.Type == "" {
		return Entry{}, fmt.Errorf("decode journal entry %d: it has no type", env.Seq)
	}
	entry := Entry{Seq: env.Seq, At: env.At.UTC()}
	decode, known := eventTypes[env.Type]
	if !known {
		entry.Event = Unknown{Type: env.Type, Body: env.Event, Problem: "unknown event type"}
		return entry, nil
	}
	body := env.Event
	if len(body) == 0 {
		body = []byte("{}")
	}
	event, err := decode(body)
	if err != nil {
		event = Unknown{Type: env.Type, Body: env.Event, Problem: err.Error()}
	}
	entry.Event = event
	return entry, nil
}

// MarshalJSON is EncodeEntry.
func (e Entry) MarshalJSON() ([]byte, error) { return EncodeEntry(e) }

// UnmarshalJSON is DecodeEntry.
func (e *Entry) UnmarshalJSON(line []byte) error {
	entry, err := DecodeEntry(line)
	if err == nil {
		*e = entry
	}
	return err
}

// Marshal is json.Marshal without its escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// span is a time.Duration that a recording holds as text.
type span time.Duration

func (s span) MarshalJSON() ([]byte, error) {
	return Marshal(time.Duration(s).String())
}

// UnmarshalJSON reads a duration string; a number is taken as nanoseconds.
func (s *span) UnmarshalJSON(data []byte) error {
	var nanoseconds int64
	if err := json.Unmarshal(data, &nanoseconds); err == nil {
		*s = span(nanoseconds)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read a duration: %w", err)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("read a duration: %w", err)
	}
	*s = span(d)
	return nil
}

// The events below have durations. Their outer field hides the embedded one of
// the same JSON name, so that every other field keeps its single declaration.

type keyAdded KeyAdded

type keyAddedJSON struct {
	keyAdded
	Delay span      `json:"delay,omitempty"`
	Due   time.Time `json:"due,omitzero"`
}

// MarshalJSON writes durations as text.
func (e KeyAdded) MarshalJSON() ([]byte, error) {
	return Marshal(keyAddedJSON{keyAdded(e), span(e.Delay), e.Due.UTC()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *KeyAdded) UnmarshalJSON(data []byte) error {
	var in keyAddedJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = KeyAdded(in.keyAdded)
	e.Delay, e.Due = time.Duration(in.Delay), in.Due.UTC()
	return nil
}

type keyTaken KeyTaken

type keyTakenJSON struct {
	keyTaken
	Waited span `json:"waited"`
}

// MarshalJSON writes durations as text.
func (e KeyTaken) MarshalJSON() ([]byte, error) {
	return Marshal(keyTakenJSON{keyTaken(e), span(e.Waited)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *KeyTaken) UnmarshalJSON(data []byte) error {
	var in keyTakenJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = KeyTaken(in.keyTaken)
	e.Waited = time.Duration(in.Waited)
	return nil
}

type keyFinished KeyFinished

type keyFinishedJSON struct {
	keyFinished
	Duration span `json:"duration"`
}

// MarshalJSON writes durations as text.
func (e KeyFinished) MarshalJSON() ([]byte, error) {
	return Marshal(keyFinishedJSON{keyFinished(e), span(e.Duration)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *KeyFinished) UnmarshalJSON(data []byte) error {
	var in keyFinishedJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = KeyFinished(in.keyFinished)
	e.Duration = time.Duration(in.Duration)
	return nil
}

type writeFinished WriteFinished

type writeFinishedJSON struct {
	writeFinished
	Duration span `json:"duration"`
}

// MarshalJSON writes durations as text.
func (e WriteFinished) MarshalJSON() ([]byte, error) {
	return Marshal(writeFinishedJSON{writeFinished(e), span(e.Duration)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *WriteFinished) UnmarshalJSON(data []byte) error {
	var in writeFinishedJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = WriteFinished(in.writeFinished)
	e.Duration = time.Duration(in.Duration)
	return nil
}

type electionChanged ElectionChanged

type electionChangedJSON struct {
	electionChanged
	Since     time.Time `json:"since,omitzero"`
	RenewTime time.Time `json:"renewTime,omitzero"`
	Expired   time.Time `json:"expired,omitzero"`
	Wait      span      `json:"wait,omitempty"`
	Gap       span      `json:"gap,omitempty"`
	Deadline  span      `json:"deadline,omitempty"`
}

// MarshalJSON writes durations as text.
func (e ElectionChanged) MarshalJSON() ([]byte, error) {
	return Marshal(electionChangedJSON{electionChanged(e), e.Since.UTC(), e.RenewTime.UTC(), e.Expired.UTC(), span(e.Wait), span(e.Gap), span(e.Deadline)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *ElectionChanged) UnmarshalJSON(data []byte) error {
	var in electionChangedJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*e = ElectionChanged(in.electionChanged)
	e.Since, e.RenewTime, e.Expired = in.Since.UTC(), in.RenewTime.UTC(), in.Expired.UTC()
	e.Wait, e.Gap, e.Deadline = time.Duration(in.Wait), time.Duration(in.Gap), time.Duration(in.Deadline)
	return nil
}
