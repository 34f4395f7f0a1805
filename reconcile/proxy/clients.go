package proxy

import (
	"net/http"
	"strings"
	"sync"
)

const (
	// maxClients bounds the names derived from user agents.
	maxClients = 64
	// maxClientName is the maximum length of a name, in bytes.
	maxClientName = 63

	unnamedClient = "unnamed-client"
	otherClients  = "other clients"
)

// Clients derives client names from user agents: client-go's are "operator/v1.2.3
// (linux/amd64) kubernetes/abc", and the name is "operator". Its methods are safe for
// concurrent use.
type Clients struct {
	taken func(string) bool

	mu    sync.Mutex
	known map[string]bool
}

// NewClients returns a Clients without names. taken, if set, reports the names of other
// writers in the journal: a client with such a name gets " (client)" appended.
func NewClients(taken func(string) bool) *Clients {
	return &Clients{taken: taken, known: map[string]bool{}}
}

// Of returns the name of the client that sends a request. After the first 64 names,
// every new one is "other clients".
func (c *Clients) Of(req *http.Request) string {
	name := clientName(req.UserAgent())
	if c.taken != nil && c.taken(name) {
		name += takenSuffix
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.known[name]:
	case len(c.known) >= maxClients:
		return otherClients
	default:
		c.known[name] = true
	}
	return name
}

// IsName reports whether a client can have a name.
func IsName(name string) bool {
	own := strings.TrimSuffix(name, takenSuffix)
	return name == otherClients || own != "" && clientName(own) == own
}

// takenSuffix is appended to the name of a client that equals that of another writer in
// the journal.
const takenSuffix = " (client)"

// clientName is the first word of a user agent up to its version. Characters other than
// letters, digits, dots, dashes and underscores become underscores.
func clientName(userAgent string) string {
	name := strings.TrimSpace(userAgent)
	if end := strings.IndexAny(name, "/ \t"); end >= 0 {
		name = name[:end]
	}
	if name == "" {
		return unnamedClient
	}
	if len(name) > maxClientName {
		name = name[:maxClientName]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
}
