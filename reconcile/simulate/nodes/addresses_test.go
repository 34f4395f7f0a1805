package nodes

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestAddresses(t *testing.T) {
	a := newAddresses()
	cidr := []string{"10.1.0.0/29"} // seven addresses without the range's own
	a.note("old", []string{"10.1.0.2"})

	given := map[string]types.UID{}
	for i := range 6 {
		uid := types.UID(fmt.Sprint("pod-", i))
		ips := a.take(uid, cidr)
		if len(ips) != 1 {
			t.Fatalf("%s: addresses %v", uid, ips)
		}
		if other, ok := given[ips[0]]; ok || ips[0] == "10.1.0.2" || ips[0] == "10.1.0.0" {
			t.Errorf("%s: %s belongs to %q", uid, ips[0], other)
		}
		given[ips[0]] = uid
		if again := a.take(uid, cidr); !slices.Equal(again, ips) {
			t.Errorf("%s: %v at first, then %v", uid, ips, again)
		}
	}
	if got := a.take("late", cidr); !slices.Equal(got, []string{"100.64.0.1"}) {
		t.Errorf("address from a range that is used up: %v", got)
	}
	a.release("old")
	if got := a.take("next", cidr); !slices.Equal(got, []string{"10.1.0.2"}) {
		t.Errorf("address after one was released: %v", got)
	}
	if got := a.take("dual", []string{"10.2.0.0/24", "fd00::/64"}); !slices.Equal(got, []string{"10.2.0.1", "fd00::1"}) {
		t.Errorf("addresses of two families: %v", got)
	}
	if got := a.take("broken", []string{"nonsense"}); !slices.Equal(got, []string{"100.64.0.2"}) {
		t.Errorf("address from a broken range: %v", got)
	}
}

// An address that was free is not given again while others never were.
func TestAddressesAreNotReusedAtOnce(t *testing.T) {
	a := newAddresses()
	first := a.take("a", []string{"10.1.0.0/24"})
	a.release("a")
	if second := a.take("b", []string{"10.1.0.0/24"}); slices.Equal(first, second) {
		t.Errorf("%v was given twice in a row", first)
	}
}

func TestNodeAddress(t *testing.T) {
	for i, want := range map[int]string{0: "198.18.0.1", 254: "198.18.0.255", 255: "198.18.1.0", 65535: "198.19.0.0"} {
		if got := nodeAddress(i).String(); got != want {
			t.Errorf("node %d: %s, want %s", i, got, want)
		}
	}
}
