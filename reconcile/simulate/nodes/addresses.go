package nodes

import (
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Ranges that are set aside by RFC 2544 and RFC 6598: nothing that a cluster is
// usually given overlaps with them, and nothing routes to them.
var (
	nodeRange = netip.MustParsePrefix("198.18.0.0/15")
	podRange  = netip.MustParsePrefix("100.64.0.0/10")
)

// nodeAddress is the internal address of the i-th simulated node, from 0.
func nodeAddress(i int) netip.Addr {
	b := nodeRange.Addr().As4()
	n := i + 1
	b[1], b[2], b[3] = b[1]+byte(n>>16), byte(n>>8), byte(n)
	return netip.AddrFrom4(b)
}

// addresses hands out pod addresses. A pod keeps what it was given until it is
// released, so that rendering its stage twice gives the same.
type addresses struct {
	mu    sync.Mutex
	pools map[netip.Prefix]*pool
	held  map[types.UID][]netip.Addr
}

type pool struct {
	next netip.Addr
	used map[netip.Addr]struct{}
}

func newAddresses() *addresses {
	return &addresses{pools: map[netip.Prefix]*pool{}, held: map[types.UID][]netip.Addr{}}
}

// take returns one address of each range for the pod uid. A range that cannot be
// read or is used up is replaced by podRange.
func (a *addresses) take(uid types.UID, cidrs []string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	held, ok := a.held[uid]
	if !ok {
		if len(cidrs) == 0 {
			cidrs = []string{podRange.String()}
		}
		for _, cidr := range cidrs {
			prefix, err := netip.ParsePrefix(cidr)
			if err != nil {
				prefix = podRange
			}
			addr, ok := a.pool(prefix.Masked()).take(prefix.Masked())
			if !ok {
				addr, ok = a.pool(podRange).take(podRange)
			}
			if ok {
				held = append(held, addr)
			}
		}
		a.held[uid] = held
	}
	var ips []string
	for _, addr := range held {
		ips = append(ips, addr.String())
	}
	return ips
}

// note marks addresses as used by a pod that has them already.
func (a *addresses) note(uid types.UID, ips []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.held[uid]; ok || len(ips) == 0 {
		return
	}
	var held []netip.Addr
	for _, ip := range ips {
		if addr, err := netip.ParseAddr(ip); err == nil {
			held = append(held, addr)
			for prefix, pool := range a.pools {
				if prefix.Contains(addr) {
					pool.used[addr] = struct{}{}
				}
			}
		}
	}
	a.held[uid] = held
}

func (a *addresses) release(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, addr := range a.held[uid] {
		for _, pool := range a.pools {
			delete(pool.used, addr)
		}
	}
	delete(a.held, uid)
}

func (a *addresses) pool(prefix netip.Prefix) *pool {
	p, ok := a.pools[prefix]
	if !ok {
		p = &pool{next: prefix.Addr(), used: map[netip.Addr]struct{}{}}
		for _, held := range a.held {
			for _, addr := range held {
				if prefix.Contains(addr) {
					p.used[addr] = struct{}{}
				}
			}
		}
		a.pools[prefix] = p
	}
	return p
}

// take finds the next free address after the last one given, so that an address
// is not used again while others never were. The range's own address is skipped.
func (p *pool) take(prefix netip.Prefix) (netip.Addr, bool) {
	// As many steps as there are addresses in use find a free one if there is
	// one: each step but the last meets a used address, the base address or the
	// end of the range.
	for range len(p.used) + 3 {
		p.next = p.next.Next()
		if !p.next.IsValid() || !prefix.Contains(p.next) {
			p.next = prefix.Addr()
			continue
		}
		if _, used := p.used[p.next]; !used {
			p.used[p.next] = struct{}{}
			return p.next, true
		}
	}
	return netip.Addr{}, false
}
