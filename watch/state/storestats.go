package state

import "time"

// StoreStats is one informer, of the loops or of the screen: what it holds and how
// fresh that is.
type StoreStats struct {
	// Type is what it watches, "deployments.apps", in Version.
	Type    string `json:"type"`
	Version string `json:"version,omitempty"`
	// Namespace is the one it is confined to; empty for all.
	Namespace string `json:"namespace,omitempty"`
	// Metadata: it holds the metadata of objects and nothing else.
	Metadata bool `json:"metadata,omitempty"`

	Status InformerStatus `json:"status,omitempty"`
	Reason string         `json:"reason,omitempty"`
	// Synced: every handler has got the first list.
	Synced  bool `json:"synced"`
	Objects int  `json:"objects"`
	// Arrived counts the objects of a list that is under way, and Expected is how
	// many there will be, where the server told.
	Arrived  int `json:"arrived,omitempty"`
	Expected int `json:"expected,omitempty"`
	// ResourceVersion is that of the last list, event or bookmark.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// FIFODepth counts the deltas between the reflector and the store; nil where
	// it is not known.
	FIFODepth *int `json:"fifoDepth,omitempty"`

	// Events counts what it delivered, and LastEvent is when it did so last.
	Events    uint64    `json:"events"`
	LastEvent time.Time `json:"lastEvent,omitzero"`
	// LastBookmark is when the server last told that nothing has happened; zero
	// where that is not known.
	LastBookmark time.Time `json:"lastBookmark,omitzero"`
	// LastMoved is when ResourceVersion was last seen to move, by an event or
	// by a bookmark; it is looked at every second or so.
	LastMoved time.Time `json:"lastMoved,omitzero"`

	// Relists counts the times that the watch was lost and events may be
	// missing; LastRelist is the last reason.
	Relists      int       `json:"relists"`
	LastRelist   string    `json:"lastRelist,omitempty"`
	LastRelistAt time.Time `json:"lastRelistAt,omitzero"`

	Handlers []HandlerStats `json:"handlers,omitempty"`
}

// HandlerStats is one event handler of an informer.
type HandlerStats struct {
	// Controller registered it.
	Controller string `json:"controller"`
	// ResourceVersion is the highest of an event from which it has returned.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Synced          bool   `json:"synced"`
}

// CacheView is the store of one informer beside what its server says.
type CacheView struct {
	Store  StoreStats  `json:"store"`
	Server *ServerView `json:"server,omitempty"`
	// Objects are in the order of their keys.
	Objects []CachedObject `json:"objects"`
}

// CachedObject is one object of a store.
type CachedObject struct {
	Ref
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Created         time.Time `json:"created,omitzero"`
	Deleting        time.Time `json:"deleting,omitzero"`
	// Object is the whole of it, redacted; nil where it was not asked for.
	Object map[string]any `json:"object,omitempty"`
}

// Freshness is what can be said of a store beside its server.
type Freshness string

const (
	// Current: the store has what the server had when it was asked.
	Current Freshness = "current"
	// Behind: the server has newer, and the store did not get it in time.
	Behind Freshness = "behind"
	// Undecided: the server's resourceVersion is ahead, which it is of every
	// quiet type until the next bookmark. Nothing follows from it.
	Undecided Freshness = "undecided"
	// Gone: the store holds an object that the server does not have.
	Gone Freshness = "gone"
	// Missing: the server has an object that the store does not hold.
	Missing Freshness = "missing"
	// Unasked: the server could not be asked; see Reason.
	Unasked Freshness = "unknown"
)

// ServerView is what the server answered and what follows from it.
type ServerView struct {
	Freshness Freshness `json:"freshness"`
	Reason    string    `json:"reason,omitempty"`
	// ResourceVersion is the object's where one was named, else the list's.
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Asked           time.Time `json:"asked,omitzero"`
}
