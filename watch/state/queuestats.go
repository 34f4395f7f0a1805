package state

import (
	"encoding/json"
	"time"
)

// Process is a process whose loops were looked at.
type Process struct {
	// Source says in words where the figures come from: "run, process 4711",
	// "pod kube-system/kube-controller-manager-a".
	Source string `json:"source"`
	// PID and the fields below are known of this program's own processes only.
	PID  int    `json:"pid,omitempty"`
	Verb string `json:"verb,omitempty"`
	// Version is kctl-ctrl's own, Server the URL of the API server.
	Version   string    `json:"version,omitempty"`
	Context   string    `json:"context,omitempty"`
	Server    string    `json:"server,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Mode      Mode      `json:"mode,omitempty"`
	Started   time.Time `json:"started,omitzero"`
}

// QueueStats is one work queue at one moment, of this program or of another
// process. A field is nil where the process does not tell: that is not zero.
type QueueStats struct {
	// Context names the cluster where several were asked for.
	Context string `json:"context,omitempty"`
	// Controller is whose queue it is; empty where the process does not say.
	Controller string `json:"controller,omitempty"`
	Name       string `json:"name"`

	// Depth is the number of keys that stand ready, Waiting of those with a
	// delay that is not over, InFlight of those with a worker.
	Depth    *int64 `json:"depth,omitempty"`
	Waiting  *int64 `json:"waiting,omitempty"`
	InFlight *int64 `json:"inFlight,omitempty"`
	// Workers is how many keys can be handled side by side.
	Workers *int64 `json:"workers,omitempty"`

	// Adds counts additions: of this program's loops all, of other processes
	// those that were not merged with one before. Retries counts those with
	// back-off, Syncs the keys given back, Errors the syncs that failed.
	Adds    *Counter `json:"adds,omitempty"`
	Retries *Counter `json:"retries,omitempty"`
	Syncs   *Counter `json:"syncs,omitempty"`
	Errors  *Counter `json:"errors,omitempty"`

	// Unfinished is how long the syncs under way have taken, all together;
	// Longest is the longest of them.
	Unfinished *Duration `json:"unfinished,omitempty"`
	Longest    *Duration `json:"longest,omitempty"`
	// Oldest is how long the key that became ready first has stood in the
	// queue; zero where none stands there. Only this program knows it of its
	// own loops.
	Oldest *Duration `json:"oldest,omitempty"`

	// Stalled is set where a key is ready while workers are idle, which is a
	// defect of this program; only this program knows it of its own loops.
	Stalled *QueueStalled `json:"stalled,omitempty"`

	// Wait is how long keys stood ready, Work how long their syncs took, both
	// since the process began. RecentWait and RecentWork are those of the time
	// between two scrapes.
	Wait       *Latency `json:"wait,omitempty"`
	Work       *Latency `json:"work,omitempty"`
	RecentWait *Latency `json:"recentWait,omitempty"`
	RecentWork *Latency `json:"recentWork,omitempty"`

	// Keys are those that are ready, waiting or being processed, where they
	// were asked for; MoreKeys counts those that a bound kept out.
	Keys     []Key `json:"keys,omitempty"`
	MoreKeys int   `json:"moreKeys,omitempty"`
}

// Counter is a count since the process began.
type Counter struct {
	Total uint64 `json:"total"`
	// PerSecond is its rise between two looks; nil after one look.
	PerSecond *float64 `json:"perSecond,omitempty"`
}

// Latency is what is known of a distribution of durations.
type Latency struct {
	Count uint64   `json:"count"`
	P50   Quantile `json:"p50"`
	P99   Quantile `json:"p99"`
}

// Quantile is a quantile of durations as far as its histogram knows it: more
// than Above, and AtMost. AtMost is zero where it is beyond the last bucket.
type Quantile struct {
	Above  Duration `json:"above"`
	AtMost Duration `json:"atMost,omitzero"`
}

// Exact is a quantile that is known well enough to be one number.
func Exact(d time.Duration) Quantile { return Quantile{Above: Duration(d), AtMost: Duration(d)} }

// LatencyOf sums a histogram up; nil where nothing was observed.
func LatencyOf(h *Histogram) *Latency {
	if h == nil || h.Count() == 0 {
		return nil
	}
	return &Latency{Count: h.Count(), P50: Exact(h.Quantile(0.50)), P99: Exact(h.Quantile(0.99))}
}

// Duration is a time.Duration that documents hold as text, "1.5s".
type Duration time.Duration

// String is time.Duration's.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes it as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads what MarshalJSON wrote; a number is nanoseconds.
func (d *Duration) UnmarshalJSON(data []byte) error { return (*span)(d).UnmarshalJSON(data) }
