package state

import (
	"encoding/json"
	"time"
)

// Controller is one loop of this process, or another writer that the journal
// names. Its sums are since the journal began.
type Controller struct {
	Name   string           `json:"name"`
	Status ControllerStatus `json:"status,omitempty"`
	Reason string           `json:"reason,omitempty"`
	// Since is when Status began.
	Since   time.Time `json:"since,omitzero"`
	Queues  []string  `json:"queues,omitempty"`
	Workers int       `json:"workers,omitempty"`
	// QueueKeys says what the keys of its queues stand for; see Keys.
	QueueKeys []QueueKeys `json:"queueKeys,omitempty"`

	Adds    uint64 `json:"adds"`
	Retries uint64 `json:"retries"`
	Syncs   uint64 `json:"syncs"`
	Errors  uint64 `json:"errors"`
	// Now is summed up over the controller's queues.
	Now    Depths      `json:"now"`
	Writes WriteCounts `json:"writes"`
	// Reads counts requests of a client behind the proxy; of loops it is zero:
	// their informers tell.
	Reads uint64 `json:"reads,omitempty"`

	LastRead  time.Time `json:"lastRead,omitzero"`
	LastSync  time.Time `json:"lastSync,omitzero"`
	LastWrite time.Time `json:"lastWrite,omitzero"`
	// LastError is of LastErrorKey, a key of LastErrorQueue or, without a queue, the
	// object of a write. LastErrorCleared is when that succeeded later; zero while the
	// error stands. Snapshot.LastErrorOf says which error to show.
	LastError        string    `json:"lastError,omitempty"`
	LastErrorQueue   string    `json:"lastErrorQueue,omitempty"`
	LastErrorKey     string    `json:"lastErrorKey,omitempty"`
	LastErrorAt      time.Time `json:"lastErrorAt,omitzero"`
	LastErrorCleared time.Time `json:"lastErrorCleared,omitzero"`

	// Durations are those of the syncs, Waits the times that keys stood ready.
	Durations *Histogram `json:"-"`
	Waits     *Histogram `json:"-"`
}

// P50 and P99 are quantiles of the sync durations; see Histogram for the error.
func (c *Controller) P50() time.Duration { return c.quantile(0.50) }
func (c *Controller) P99() time.Duration { return c.quantile(0.99) }

func (c *Controller) quantile(q float64) time.Duration {
	if c.Durations == nil {
		return 0
	}
	return c.Durations.Quantile(q)
}

// Depths counts the keys of a queue. A key counts in each state it is in: one
// that is processing and has a retry due is Processing and Waiting.
type Depths struct {
	// Ready keys stand in the queue; this is what upstream calls its depth.
	Ready int `json:"ready"`
	// Waiting keys have a delay that is not over.
	Waiting int `json:"waiting"`
	// Processing keys are with a worker; Dirty ones of them run again after.
	Processing int `json:"processing"`
	Dirty      int `json:"dirty"`
}

func (d *Depths) add(k *Key, n int) {
	if k.ready {
		d.Ready += n
	}
	if !k.Due.IsZero() {
		d.Waiting += n
	}
	if k.processing {
		d.Processing += n
	}
	if k.dirty {
		d.Dirty += n
	}
}

// WriteCounts counts writes by their result.
type WriteCounts struct {
	Done    uint64 `json:"done"`
	Dry     uint64 `json:"dry"`
	Refused uint64 `json:"refused"`
	Failed  uint64 `json:"failed"`
}

// Total is the number of all writes, whatever became of them.
func (w WriteCounts) Total() uint64 { return w.Done + w.Dry + w.Refused + w.Failed }

func (w *WriteCounts) count(r WriteResult) {
	switch r {
	case WriteDry:
		w.Dry++
	case WriteRefused:
		w.Refused++
	case WriteFailed:
		w.Failed++
	default:
		w.Done++
	}
}

// Queue is one workqueue of a controller.
type Queue struct {
	Controller string `json:"controller"`
	Name       string `json:"name"`
	Depths
	Adds    uint64 `json:"adds"`
	Retries uint64 `json:"retries"`
	Syncs   uint64 `json:"syncs"`
	Errors  uint64 `json:"errors"`
	// LastAdd is when a key was added last.
	LastAdd time.Time `json:"lastAdd,omitzero"`
	// Stalled is nil unless a key is ready while workers are idle.
	Stalled *QueueStalled `json:"stalled,omitempty"`

	// Durations and Waits are the Controller's, of this queue alone.
	Durations *Histogram `json:"-"`
	Waits     *Histogram `json:"-"`
}

// Phase is where a key stands.
type Phase string

const (
	// PhaseWaiting: its delay is not over; see Key.Due.
	PhaseWaiting Phase = "waiting"
	// PhaseReady: it stands in the queue.
	PhaseReady Phase = "ready"
	// PhaseProcessing: a worker has it.
	PhaseProcessing Phase = "processing"
	// PhaseDirty: a worker has it, and it was added again meanwhile.
	PhaseDirty Phase = "dirty"
	// PhaseDone: it left its queue.
	PhaseDone Phase = "done"
	// PhaseDropped: the user took it out of its queue.
	PhaseDropped Phase = "dropped"
)

// Key is one key of one queue.
type Key struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`

	Phase Phase `json:"phase"`
	// Since is when Phase began.
	Since time.Time `json:"since"`
	// Due is when the earliest pending delay ends; zero where none is pending.
	Due time.Time `json:"due,omitzero"`
	// Sync is the number of the running sync, zero where none runs.
	Sync uint64 `json:"sync,omitempty"`
	// Retries is the rate limiter's count.
	Retries int `json:"retries,omitempty"`

	// Cause is that of the addition which made it ready, or will; Added is when
	// it came, and Causes counts the additions since the last sync was taken.
	Cause  Cause     `json:"cause"`
	Added  time.Time `json:"added,omitzero"`
	Causes int       `json:"causes,omitempty"`

	// LastErrorCleared is when a later sync succeeded; zero while LastError stands.
	LastError        string    `json:"lastError,omitempty"`
	LastErrorAt      time.Time `json:"lastErrorAt,omitzero"`
	LastErrorCleared time.Time `json:"lastErrorCleared,omitzero"`
	// Attempts are the last syncs, newest last; Syncs counts all since the key
	// was first seen or came back after its history was forgotten.
	Attempts []*Sync `json:"attempts,omitempty"`
	Syncs    uint64  `json:"syncs"`

	ready, processing, dirty bool

	// running is what KeyTaken said of the sync under way, at taken.
	running KeyTaken
	taken   time.Time
	// delayed is the addition that set Due.
	delayed addition
	// last is the highest number of a sync that is over.
	last uint64
	// place is the key's number in Snapshot.order while it is done.
	place uint64
}

// addition is why and when a key was added.
type addition struct {
	cause Cause
	at    time.Time
}

// Running tells of the sync under way and when it was taken; false where none is.
func (k *Key) Running() (KeyTaken, time.Time, bool) {
	return k.running, k.taken, k.processing
}

func (k *Key) phase() Phase {
	switch {
	case k.processing && k.dirty:
		return PhaseDirty
	case k.processing:
		return PhaseProcessing
	case k.ready:
		return PhaseReady
	case !k.Due.IsZero():
		return PhaseWaiting
	}
	return PhaseDone
}

// Sync is one finished sync of one key.
type Sync struct {
	Number     uint64 `json:"number"`
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`

	// Taken is when the worker took the key, Finished when it gave it back.
	Taken    time.Time     `json:"taken"`
	Finished time.Time     `json:"finished"`
	Waited   time.Duration `json:"waited"`
	Duration time.Duration `json:"duration"`

	Cause  Cause  `json:"cause"`
	Causes int    `json:"causes,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Error  string `json:"error,omitempty"`
	Writes int    `json:"writes,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
	// Retries is the rate limiter's count when the sync was over, and RetryDue
	// the time of the next one; zero where none was asked for.
	Retries  int       `json:"retries,omitempty"`
	RetryDue time.Time `json:"retryDue,omitzero"`
}

// Event is what the journal said of the sync's end.
func (s Sync) Event() KeyFinished {
	return KeyFinished{Controller: s.Controller, Queue: s.Queue, Key: s.Key, Sync: s.Number, Duration: s.Duration, Failed: s.Failed, Error: s.Error, Writes: s.Writes, Dirty: s.Dirty}
}

type syncRow Sync

// MarshalJSON writes durations as text.
func (s Sync) MarshalJSON() ([]byte, error) {
	return Marshal(struct {
		syncRow
		Waited   span `json:"waited"`
		Duration span `json:"duration"`
	}{syncRow(s), span(s.Waited), span(s.Duration)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sync) UnmarshalJSON(data []byte) error {
	in := struct {
		*syncRow
		Waited   span `json:"waited"`
		Duration span `json:"duration"`
	}{syncRow: (*syncRow)(s)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	s.Waited, s.Duration = time.Duration(in.Waited), time.Duration(in.Duration)
	return nil
}

// Write is one write with its place in the journal.
type Write struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
	WriteFinished
}

// MarshalJSON writes the fields of all parts side by side.
func (w Write) MarshalJSON() ([]byte, error) {
	return Marshal(struct {
		Seq uint64    `json:"seq"`
		At  time.Time `json:"at"`
		writeFinishedJSON
	}{w.Seq, w.At, writeFinishedJSON{writeFinished(w.WriteFinished), span(w.Duration)}})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *Write) UnmarshalJSON(data []byte) error {
	var in struct {
		Seq uint64    `json:"seq"`
		At  time.Time `json:"at"`
		writeFinishedJSON
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	w.Seq, w.At, w.WriteFinished = in.Seq, in.At, WriteFinished(in.writeFinished)
	w.Duration = time.Duration(in.Duration)
	return nil
}

// Informer is what is known of one informer.
type Informer struct {
	// Name is the type it watches, "deployments.apps".
	Name   string         `json:"name"`
	Status InformerStatus `json:"status,omitempty"`
	Reason string         `json:"reason,omitempty"`
	Since  time.Time      `json:"since,omitzero"`
	// Objects counts those in the index that came through this informer;
	// Reported is the count that it gave itself with its last change of status.
	Objects  int `json:"objects"`
	Reported int `json:"reported,omitempty"`
	// ResourceVersion is the latest seen, of an object or the store.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Events counts what it delivered, periodic resyncs not included.
	Events    uint64    `json:"events"`
	LastEvent time.Time `json:"lastEvent,omitzero"`
	Gaps      int       `json:"gaps,omitempty"`
	LastGap   string    `json:"lastGap,omitempty"`
	LastGapAt time.Time `json:"lastGapAt,omitzero"`
}

// Object is the metadata of one object in an informer's cache.
type Object struct {
	Ref
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Owner           *Ref   `json:"owner,omitempty"`
	Informer        string `json:"informer"`
	// Change is the last that happened to it, at Changed; a periodic resync
	// is none.
	Change  Change    `json:"change"`
	Changed time.Time `json:"changed"`
}

// Lease is a lease and its holder.
type Lease struct {
	LeaseChanged
	// Since is when the holder was first seen to hold it; Seen is the time of
	// the last change of the lease.
	Since time.Time `json:"since"`
	Seen  time.Time `json:"seen"`
}

// Election is how this process stands in the election for a lease, and since
// when.
type Election struct {
	ElectionChanged
	At time.Time `json:"at"`
}

type electionJSON struct {
	Changed ElectionChanged `json:"changed"`
	At      time.Time       `json:"at"`
}

// MarshalJSON writes both: the event's own would hide the time.
func (e Election) MarshalJSON() ([]byte, error) {
	return Marshal(electionJSON{e.ElectionChanged, e.At.UTC()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Election) UnmarshalJSON(data []byte) error {
	var in electionJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	e.ElectionChanged, e.At = in.Changed, in.At.UTC()
	return nil
}
