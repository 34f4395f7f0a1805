package processes

import (
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNothingIsOpenToOthers looks at all that the program has written, while it runs and
// afterwards, under an umask that takes nothing from others and one that takes all; and
// at the ports at which it listens.
func TestNothingIsOpenToOthers(t *testing.T) {
	t.Run("umask 000", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		run := h.program(t, "run", "--sandbox", "--nodes=1", "--controllers=deployment,replicaset", "--record=plain.jsonl", "--log-file=own.log")
		underUmask(run, "000")
		end := beginning(t, run, "2 controllers run")
		h.checkPrivate(t, "run")
		checkPorts(t, run.Process.Pid, 1)
		if said := end(); run.ProcessState.ExitCode() != exitOK || !strings.Contains(said, "stopping the loops") {
			t.Errorf("Ctrl-C: %s: %s", run.ProcessState, said)
		}
		h.checkPrivate(t, "after run")

		exec := h.program(t, "exec", "--sandbox", "--nodes=0", "--controllers=", "--journal-file=journal", "--", "sh", "-c", "echo ready; exec sleep 1000")
		underUmask(exec, "000")
		end = beginning(t, exec, "ready")
		h.checkPrivate(t, "exec")
		checkPorts(t, exec.Process.Pid, 2)
		end()
		h.checkPrivate(t, "after exec")

		for _, args := range [][]string{
			{"sandbox", "--nodes=0", "--controllers=", "--", "true"},
			{"record", "--kubeconfig", onShared(t), "--controllers=deployment", "--until-settled", "-o", "packed.zst"},
		} {
			command := h.program(t, args...)
			underUmask(command, "000")
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
		}
		h.checkPrivate(t, "after all")
	})
	t.Run("umask 077", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		exec := h.program(t, "exec", "--sandbox", "--nodes=0", "--controllers=deployment", "--journal-file=journal", "--", "sh", "-c", "echo ready; exec sleep 1000")
		underUmask(exec, "077")
		end := beginning(t, exec, "ready")
		h.checkPrivate(t, "exec")
		end()
		run := h.program(t, "run", "--kubeconfig", onShared(t), "--controllers=deployment", "--until-settled", "--record=packed.zst", "--log-file=own.log")
		underUmask(run, "077")
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		h.checkPrivate(t, "after all")
	})
}

// family lists a process and all below it.
func family(t *testing.T, pid int) []int {
	t.Helper()
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("there is no /proc to find processes in")
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		child, _ := strconv.Atoi(strings.TrimPrefix(filepath.Dir(path), "/proc/"))
		// The name in brackets may hold anything.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		parents[child], _ = strconv.Atoi(fields[1])
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		for child, parent := range parents {
			if parent == all[i] {
				all = append(all, child)
			}
		}
	}
	return all
}

// listensAt lists the addresses at which processes listen for TCP and UDP.
func listensAt(t *testing.T, pids []int) []string {
	t.Helper()
	sockets := map[string]bool{}
	for _, pid := range pids {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
				sockets[strings.Trim(target, "socket:[]")] = true
			}
		}
	}
	var out []string
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile("/proc/net/" + protocol)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(text), "\n")[1:] {
			fields := strings.Fields(line)
			const listen, bound = "0A", "07"
			if len(fields) < 10 || !sockets[fields[9]] || fields[3] != listen && fields[3] != bound {
				continue
			}
			host, port, _ := strings.Cut(fields[1], ":")
			raw, err := hex.DecodeString(host)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+4 <= len(raw); i += 4 { // words of the machine's own order
				slices.Reverse(raw[i : i+4])
			}
			n, err := strconv.ParseUint(port, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, net.JoinHostPort(net.IP(raw).String(), strconv.FormatUint(n, 10)))
		}
	}
	return out
}

// checkPorts asks every port at which a process and those below it listen, as the
// sandbox's and the proxy of exec: they are on loopback, and let nobody in without a
// token.
func checkPorts(t *testing.T, pid, ports int) {
	t.Helper()
	addresses := listensAt(t, family(t, pid))
	if len(addresses) != ports {
		t.Errorf("it listens at %q, want %d ports", addresses, ports)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // who it is does not matter here
	}}
	for _, address := range addresses {
		host, _, _ := net.SplitHostPort(address)
		if !net.ParseIP(host).IsLoopback() {
			t.Errorf("it listens at %s", address)
		}
		for _, token := range []string{"", "wrong", "Bearer "} {
			for _, path := range []string{"/api/v1/namespaces/default/secrets", "/api", "/apis/apps/v1/deployments?watch=true", "/metrics", "/debug/pprof/", "/"} {
				request, err := http.NewRequest(http.MethodGet, "https://"+address+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					request.Header.Set("Authorization", "Bearer "+token)
				}
				answer, err := client.Do(request)
				if err != nil {
					t.Errorf("%s: %v", address, err)
					continue
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				// kube-apiserver knows who asks without a token: nobody, who may not.
				if answer.StatusCode != http.StatusUnauthorized && (token != "" || answer.StatusCode != http.StatusForbidden) {
					t.Errorf("%s%s with token %q answers %s", address, path, token, answer.Status)
				}
			}
		}
	}
}
