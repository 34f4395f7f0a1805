package main

import (
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// house is all places in which this program keeps files for a user, below one
// directory, which is short: sockets have short paths.
type house struct{ root string }

// auditFile is a new file for the audit log of a sandbox, which takes it over.
//
//lint:ignore U1000 for the tests with the tags twins and scenarios
func auditFile(t testing.TB) *os.File {
	t.Helper()
	file, err := openOwn(filepath.Join(t.TempDir(), "audit.log"), false)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func newHouse(t *testing.T) house {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "kc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	h := house{root}
	for _, dir := range []string{"home", "run", "tmp", "work"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h house) path(elements ...string) string {
	return filepath.Join(append([]string{h.root}, elements...)...)
}

// program is one of a user who lives here.
func (h house) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := program(t, args...)
	command.Dir = h.path("work")
	command.Env = append(command.Env, h.env()...)
	return command
}

func (h house) env() []string {
	return []string{
		"HOME=" + h.path("home"), "XDG_RUNTIME_DIR=" + h.path("run"), "TMPDIR=" + h.path("tmp"),
		"XDG_STATE_HOME=" + h.path("home", "state"), "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "KCTL_CTRL_ATTACH_DIR=",
	}
}

// contents lists what is there, but for the directories that the house is made of.
func (h house) contents(t *testing.T) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(h.root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since it was listed
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if name, _ := filepath.Rel(h.root, path); strings.Contains(name, "/") {
			all[name] = info.Mode()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkPrivate reports what others may read, write or enter, and how much there is.
func (h house) checkPrivate(t *testing.T, when string) {
	t.Helper()
	files, dirs, sockets := 0, 0, 0
	for name, mode := range h.contents(t) {
		switch {
		case mode.IsDir():
			dirs++
		case mode.Type() == fs.ModeSocket:
			sockets++
		default:
			files++
		}
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[mode.IsDir()]; mode.Type() != fs.ModeSymlink && mode.Perm() != want &&
			(mode.Type() != fs.ModeSocket || mode.Perm()&0o077 != 0) {
			t.Errorf("%s: %s has mode %v, want %v", when, name, mode, want)
		}
	}
	t.Logf("%s: %d files, %d directories, %d sockets", when, files, dirs, sockets)
	if files == 0 || dirs == 0 {
		t.Errorf("%s: nothing was looked at", when)
	}
}

// underUmask has a command start with an umask.
func underUmask(command *exec.Cmd, umask string) {
	command.Args = append([]string{"sh", "-c", "umask " + umask + ` && exec "$0" "$@"`, command.Path}, command.Args[1:]...)
	command.Path = "/bin/sh"
}

// beginning starts a command and returns when it has said a text on its standard
// output; end interrupts it, and waits.
func beginning(t *testing.T, command *exec.Cmd, text string) (end func()) {
	t.Helper()
	lines, stdout, stderr := started(t, command)
	until(t, lines, text)
	return func() {
		t.Helper()
		_ = command.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, stdout)
		_ = command.Wait()
		for line := range strings.Lines(stderr.String()) {
			if strings.HasPrefix(line, "warning") {
				t.Errorf("%q: %s", command.Args, line)
			}
		}
	}
}

// TestFilesArePrivate looks at all that the program has written, while it runs and
// afterwards, under an umask that takes nothing and one that takes all from others.
func TestFilesArePrivate(t *testing.T) {
	for _, umask := range []string{"000", "077"} {
		t.Run(umask, func(t *testing.T) {
			parallel(t)
			h := newHouse(t)
			run := h.program(t, "run", "--sandbox", "--nodes=0", "--controllers=deployment", "--record=plain.jsonl", "--log-file=own.log")
			underUmask(run, umask)
			end := beginning(t, run, "1 loop runs: deployment")
			h.checkPrivate(t, "run")
			end()
			h.checkPrivate(t, "after run")

			exec := h.program(t, "exec", "--sandbox", "--nodes=0", "--controllers=", "--journal-file=journal", "--", "sh", "-c", "echo ready; exec sleep 1000")
			underUmask(exec, umask)
			end = beginning(t, exec, "ready")
			h.checkPrivate(t, "exec")
			end()
			h.checkPrivate(t, "after exec")

			// Which command it is has nothing to do with the umask: each has one.
			others := [][]string{{"run", "--sandbox", "--nodes=0", "--controllers=deployment", "--until-settled", "--record=packed2.zst"}}
			if umask == "000" {
				others = [][]string{
					{"sandbox", "--nodes=0", "--controllers=", "--", "true"},
					{"record", "--sandbox", "--nodes=0", "--controllers=deployment", "--until-settled", "-o", "packed.zst"},
				}
			}
			for _, args := range others {
				command := h.program(t, args...)
				underUmask(command, umask)
				if out, err := command.CombinedOutput(); err != nil && args[0] != "record" {
					t.Errorf("%q: %v\n%s", args, err, out)
				}
			}
			h.checkPrivate(t, "after all")
		})
	}
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

// TestPortsStayOnLoopback asks every port at which the program, its sandbox and the
// proxy of exec listen: they are on loopback, and let nobody in without a token.
func TestPortsStayOnLoopback(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		says  string
		ports int
	}{
		"sandbox": {[]string{"run", "--sandbox", "--nodes=1", "--controllers=deployment,replicaset"}, "2 loops run", 1},
		"exec":    {[]string{"exec", "--sandbox", "--nodes=0", "--controllers=", "--", "sh", "-c", "echo ready; exec sleep 1000"}, "ready", 2},
	} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			command := newHouse(t).program(t, c.args...)
			end := beginning(t, command, c.says)
			defer end()
			addresses := listensAt(t, family(t, command.Process.Pid))
			if len(addresses) != c.ports {
				t.Errorf("it listens at %q, want %d ports", addresses, c.ports)
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
		})
	}
}

// Files that a user names are not followed to elsewhere, and kept unless they are to be
// replaced.
func TestOpenOwn(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"old": "text", "target": "text"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "target", "nowhere": "none", "null": os.DevNull} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		replace bool
		want    string
	}{
		{"old", false, "the file exists: --force replaces it"},
		{"link", false, "a symbolic link"}, {"link", true, "a symbolic link"}, {"nowhere", true, "a symbolic link"},
		{"old", true, ""}, {"new", false, ""}, {"null", false, ""},
	} {
		file, err := openOwn(at(c.name), c.replace)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, replace %v: %v, want %q", c.name, c.replace, err, c.want)
		}
		if err != nil {
			continue
		}
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() && (info.Mode().Perm() != 0o600 || info.Size() != 0) {
			t.Errorf("%s: %v, %v", c.name, info, err)
		}
		_ = file.Close()
	}
	if text, err := os.ReadFile(at("target")); err != nil || string(text) != "text" {
		t.Errorf("what a link leads to is %q, %v", text, err)
	}
}

// The file for the journal ends with the last entry that fits, and the rest is counted.
func TestBoundedFile(t *testing.T) {
	file, err := openOwn(filepath.Join(t.TempDir(), "journal"), false)
	if err != nil {
		t.Fatal(err)
	}
	b := &boundedFile{file: file, most: 10, what: "entries", from: "the journal file"}
	for _, line := range []string{"1234\n", "abc\n", "too long\n", "x\n"} {
		if n, err := b.Write([]byte(line)); err != nil || n != len(line) {
			t.Errorf("%q: %d, %v", line, n, err)
		}
	}
	text, err := os.ReadFile(file.Name())
	var said strings.Builder
	b.report(&said)
	if err != nil || string(text) != "1234\nabc\n" || said.String() != "warning: 2 entries are not in the journal file: it reached --max-size\n" || b.Close() != nil {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}

// What a command prints is cut at the bound, and counted.
func TestBoundedOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	o := &execOptions{outputFile: path, recording: recordFlags{bytes: 10}}
	file, err := o.openOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	_, signals := passSignals(t.Context(), io.Discard, syscall.SIGUSR2)
	defer signals.stop()
	c := &userCommand{args: []string{"sh", "-c", "printf 1234; printf 567890abc >&2; printf more"}, apart: true}
	c.sendOutput(file, path)
	if err := c.run(t.Context(), signals, nil, nil); err != nil {
		t.Fatal(err)
	}
	c.close()
	var said strings.Builder
	o.printed.report(&said)
	if text, err := os.ReadFile(path); err != nil || string(text) != "1234567890" || said.String() != "warning: 7 bytes of what the command printed are not in "+path+": it reached --max-size\n" {
		t.Errorf("it has %q, %v, and says %q", text, err, said.String())
	}
}
