package proxy

import (
	"net/http"
	"strings"
	"sync"
)

const (
	// maxClients bounds the names that user agents can make.
	maxClients = 64
	// maxClientName is the longest of them, in bytes.
	maxClientName = 63

	unnamedClient = "unnamed-client"
	otherClients  = "other clients"
)

// Clients names clients by their user agents: client-go's are
// "operator/v1.2.3 (linux/amd64) kubernetes/abc", and the name is "operator".
// Its methods are safe for concurrent use.
type Clients struct {
	taken func(string) bool

	mu    sync.Mutex
	known map[string]bool
}

// NewClients begins with no name. taken, if it is set, reports the names that
// others in the journal bear: a client of such a name gets " (client)" behind it.
func NewClients(taken func(string) bool) *Clients {
	return &Clients{taken: taken, known: map[string]bool{}}
}

// Of names the client that makes a request. After the first 64 names, every new
// one is "other clients".
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

// takenSuffix is behind the name of a client that calls itself as another writer of
// the journal does.
const takenSuffix = " (client)"

// clientName is the first word of a user agent up to its version. What is no
// letter, digit, dot, dash or underscore becomes an underscore.
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
