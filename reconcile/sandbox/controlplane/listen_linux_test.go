package controlplane_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListensOnLoopbackOnly(t *testing.T) {
	addresses := listening(t, shared.PID())
	if len(addresses) != 1 || "https://"+addresses[0] != shared.Endpoint().URL || !strings.HasPrefix(addresses[0], "127.0.0.1:") {
		t.Errorf("listens on %v, want only %s", addresses, shared.Endpoint().URL)
	}
}

// listening lists the TCP addresses that a process listens on; IPv6 ones in the
// kernel's notation.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	sockets := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("descriptors of %d: %v", pid, err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil {
			if inode, ok := strings.CutPrefix(target, "socket:["); ok {
				sockets[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var addresses []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			const stateListen = "0A"
			if len(fields) < 10 || fields[3] != stateListen || !sockets[fields[9]] {
				continue
			}
			addresses = append(addresses, decodeAddress(fields[1]))
		}
	}
	return addresses
}

func decodeAddress(s string) string {
	ip, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(ip)
	var p int
	if _, scanErr := fmt.Sscanf(port, "%X", &p); err != nil || scanErr != nil || len(b) != 4 {
		return s
	}
	return fmt.Sprintf("%d.%d.%d.%d:%d", b[3], b[2], b[1], b[0], p) // little-endian hosts
}
