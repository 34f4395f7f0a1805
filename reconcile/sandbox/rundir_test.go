//go:build unix

package sandbox

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/internal/authority"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

func TestBaseMustBePrivate(t *testing.T) {
	parent := shortDir(t)
	tests := map[string]struct {
		make func(base string) error
		want string // part of the error, empty for none
	}{
		"new": {func(string) error { return nil }, ""},
		"old": {func(base string) error { return os.Mkdir(base, 0o700) }, ""},
		"open": {func(base string) error {
			if err := os.Mkdir(base, 0o700); err != nil {
				return err
			}
			return os.Chmod(base, 0o750)
		}, "accessible by other users"},
		"link": {func(base string) error { return os.Symlink(parent, base) }, "not a directory"},
		"file": {func(base string) error { return os.WriteFile(base, nil, 0o600) }, "not a directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(parent, name)
			if err := tt.make(base); err != nil {
				t.Fatal(err)
			}
			err := makeBase(base)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("makeBase: %v, want %q", err, tt.want)
			}
		})
	}

	if err := os.Chmod(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := makeBase(filepath.Join(parent, "exchangeable")); err == nil || !strings.Contains(err.Error(), "writable by other users") {
		t.Errorf("below a directory that anybody may write: %v", err)
	}
	if err := makeBase("/" + strings.Repeat("x", maxSocketPath)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("long path: %v", err)
	}
}

func TestOpenBaseTakesTheFirstUsable(t *testing.T) {
	parent := shortDir(t)
	good := filepath.Join(parent, "good")
	got, err := openBase([]string{filepath.Join(parent, "missing", "base"), good, filepath.Join(parent, "unused")})
	if err != nil || got != good {
		t.Errorf("openBase = %q, %v; want %q", got, err, good)
	}
	if _, err := openBase([]string{filepath.Join(parent, "missing", "base")}); err == nil {
		t.Error("openBase found a base where there is none")
	}
}

func TestSweepRemovesDirectoriesThatNobodyHolds(t *testing.T) {
	base := shortBase(t)
	live := makeRunDir(t, base)
	dead := makeRunDir(t, base)
	if err := dead.write("secret", []byte("x")); err != nil {
		t.Fatal(err)
	}
	dead.lock.Close()
	empty := filepath.Join(base, "run-empty")
	foreign := filepath.Join(base, "run-foreign") // no lock file: not ours
	unrelated := filepath.Join(base, "other")
	for _, dir := range []string{empty, foreign, unrelated} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(foreign, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// What a link in a dead directory, or below the base, points to stays.
	outside := filepath.Join(shortDir(t), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	target := makeRunDir(t, shortBase(t))
	target.lock.Close()
	for link, to := range map[string]string{
		filepath.Join(dead.path, "link"):    filepath.Dir(outside),
		filepath.Join(base, "run-symbolic"): target.path,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}

	fresh := makeRunDir(t, base) // sweeps

	for path, want := range map[string]bool{
		live.path: true, fresh.path: true, foreign: true, unrelated: true, outside: true, target.path: true,
		dead.path: false, empty: false,
	} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", path, err == nil, want)
		}
	}
}

func TestRemoveRefusesOtherDirectories(t *testing.T) {
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, wire.LockFile), []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := wire.RemoveRunDir(dir); err == nil {
		t.Error("removed a directory without the marker")
	}
	d := makeRunDir(t, shortBase(t))
	link := filepath.Join(dir, "link")
	if err := os.Symlink(d.path, link); err != nil {
		t.Fatal(err)
	}
	if err := wire.RemoveRunDir(link); err == nil {
		t.Error("followed a link")
	}
	if err := d.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(d.path); !os.IsNotExist(err) {
		t.Errorf("run directory after remove: %v", err)
	}
}

func TestRunDirIsPrivateUnderAnyUmask(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	base := filepath.Join(shortDir(t), "base")
	if err := makeBase(base); err != nil {
		t.Fatal(err)
	}
	d := makeRunDir(t, base)
	if err := d.write("secret", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(d.file("kubeconfig"), Endpoint{}, isRunning); err != nil {
		t.Fatal(err)
	}
	checkModes(t, base)
}

func TestRecognise(t *testing.T) {
	base := shortBase(t)
	d := makeRunDir(t, base)
	ours, other := newCA(t), newCA(t)
	if err := d.write(wire.ServerCAFile, ours); err != nil {
		t.Fatal(err)
	}
	both := append(append([]byte{}, ours...), other...)
	for name, tt := range map[string]struct {
		ca   []byte
		want bool
	}{
		"ours":           {ours, true},
		"other":          {other, false},
		"ours and other": {both, false},
		"empty":          {nil, false},
		"no PEM":         {[]byte("CERTIFICATE"), false},
	} {
		if got := recognise(tt.ca, []string{base}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if err := os.Chmod(base, 0o770); err != nil {
		t.Fatal(err)
	}
	if recognise(ours, []string{base}) {
		t.Error("recognised by a directory that others may write")
	}
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	d.lock.Close()
	if recognise(ours, []string{base}) {
		t.Error("recognised by the directory of a sandbox that is dead")
	}
}

func TestCredentials(t *testing.T) {
	now := time.Now()
	c, err := newCredentials(now, net.IPv4(10, 96, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	serving := parseCert(t, c.files[wire.ServingCertFile])
	verify := func(ca []byte) error {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		_, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1", CurrentTime: now})
		return err
	}
	if err := verify(c.serverCA); err != nil {
		t.Errorf("serving certificate: %v", err)
	}
	if err := verify(c.files[wire.ClientCAFile]); err == nil {
		t.Error("the authority whose key is in the run directory vouches for servers")
	}
	for name, content := range c.files {
		if strings.HasSuffix(name, ".key") && strings.Contains(string(content), "CERTIFICATE") {
			t.Errorf("%s holds a certificate", name)
		}
	}
	if len(c.token) < 20 || !strings.Contains(string(c.files[wire.TokensFile]), c.token+",") {
		t.Errorf("token %q, tokens file %q", c.token, c.files[wire.TokensFile])
	}
	again, err := newCredentials(now, net.IPv4(10, 96, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if again.token == c.token || string(again.serverCA) == string(c.serverCA) {
		t.Error("two runs share a token or an authority")
	}
}

// The kubeconfig of a sandbox that is running stays what it is, and is told as that; the
// sandbox's own may be written again.
func TestKubeconfigOfARunningSandbox(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	theirs := Endpoint{URL: server.URL, CA: ca, Token: "t"}
	path := filepath.Join(shortDir(t), "config")
	if err := CheckKubeconfig(path); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
	for range 2 {
		if err := writeKubeconfig(path, theirs, isRunning); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := Endpoint{URL: "https://127.0.0.1:1", CA: []byte("another"), Token: "u"}
	if err := writeKubeconfig(path, other, isRunning); !errors.Is(err, ErrInUse) {
		t.Errorf("while it runs: %v", err)
	}
	if err := CheckKubeconfig(path); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "use another file, or stop that sandbox first") {
		t.Errorf("while it runs: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
		t.Errorf("the file has changed: %v\n%s", err, now)
	}
	server.Close()
	if err := errors.Join(CheckKubeconfig(path), writeKubeconfig(path, other, isRunning)); err != nil {
		t.Errorf("when it is gone: %v", err)
	}
}

func TestKubeconfigNeverReplacesAnother(t *testing.T) {
	path := filepath.Join(shortDir(t), "config")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(path, Endpoint{URL: "https://127.0.0.1:1"}, isRunning); err == nil {
		t.Error("the kubeconfig of another cluster was replaced")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://127.0.0.1:1", "https://127.0.0.1:2"} {
		if err := writeKubeconfig(path, Endpoint{URL: url}, isRunning); err != nil {
			t.Fatal(err)
		}
		if content, _ := os.ReadFile(path); !strings.Contains(string(content), "server: "+url+"\n") {
			t.Errorf("kubeconfig for %s:\n%s", url, content)
		}
	}
	// What somebody has put into one of ours is theirs.
	mine := string(kubeconfig(Endpoint{URL: "https://127.0.0.1:2", CA: []byte("authority"), Token: "t"})) + "- name: mine\n  user: {token: secret}\n"
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeKubeconfig(path, Endpoint{URL: "https://127.0.0.1:3"}, isRunning); err == nil {
		t.Error("what was added was lost")
	}
	if content, _ := os.ReadFile(path); string(content) != mine {
		t.Errorf("kubeconfig:\n%s", content)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestLogTail(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 5000 {
		if _, err := f.WriteString("I1121 something long ago\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString("E1121 the last line\n"); err != nil {
		t.Fatal(err)
	}
	if tail := logTail(f); !strings.HasSuffix(tail, "\nE1121 the last line") || strings.Count(tail, "\n") != tailLines-1 {
		t.Errorf("tail:\n%s", tail)
	}
	if _, err := f.WriteString("panic: on purpose\n\ngoroutine 1 [running]:\n" + strings.Repeat("main.main()\n", 100)); err != nil {
		t.Fatal(err)
	}
	if tail := logTail(f); !strings.HasPrefix(tail, "panic: on purpose\n") {
		t.Errorf("tail of a panic:\n%s", tail)
	}
}

// shortDir is t.TempDir with a path that is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "kc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// What a killed process leaves of a private directory goes when the next
// directory is made; one that is in use stays, and is no sandbox's.
func TestPrivateDirIsSwept(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", shortDir(t))
	left, err := NewPrivateDir()
	if err != nil {
		t.Fatal(err)
	}
	file, err := left.Write("kubeconfig", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v; want mode 0600", file, info, err)
	}
	if _, err := left.Write("kubeconfig", nil); err == nil {
		t.Error("a file was overwritten")
	}
	_, found := RunDirs()
	for _, dir := range found {
		if dir.Path == filepath.Dir(file) {
			t.Errorf("%s counts as a sandbox", dir.Path)
		}
	}
	used, err := NewPrivateDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a directory in use was swept: %v", err)
	}
	left.dir.lock.Close() // as the kernel does when its process is killed
	next, err := NewPrivateDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the leftover was not swept: %v", err)
	}
	for _, d := range []*PrivateDir{used, next} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.dir.path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", d.dir.path, err)
		}
	}
}

func shortBase(t *testing.T) string {
	t.Helper()
	base := filepath.Join(shortDir(t), "base")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	return base
}

func makeRunDir(t *testing.T, base string) *runDir {
	t.Helper()
	d, err := newRunDir(base, []string{base})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.lock.Close() })
	return d
}

func newCA(t *testing.T) []byte {
	t.Helper()
	ca, err := authority.New("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca.CertPEM()
}

func parseCert(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// checkModes expects directories of mode 0700 and files of mode 0600 only.
func checkModes(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %v, want %v", path, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
