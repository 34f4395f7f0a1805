package sandbox

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// ContextName is the name of the context in a sandbox's kubeconfig. It is for people:
// Recognise never uses it to identify a sandbox.
const ContextName = "kctl-ctrl-sandbox"

// kubeconfigHeader is the first line of each kubeconfig that this package writes.
const kubeconfigHeader = "# kctl-ctrl sandbox: valid while the sandbox runs\n"

// WriteKubeconfig writes a kubeconfig for the administrator, mode 0600, and returns its
// path. An empty path means the file "kubeconfig" in the run directory. The caller
// removes any other; if this process is killed, it is removed with the run directory
// unless it was modified.
//
// The file is written atomically. An existing one is replaced only if it is unchanged
// since WriteKubeconfig wrote it and its sandbox no longer runs (ErrInUse otherwise):
// credentials of another cluster and modified files are not overwritten.
func (s *Sandbox) WriteKubeconfig(path string) (string, error) {
	own := path == ""
	if own {
		path = s.dir.file(wire.KubeconfigFile)
	}
	err := writeKubeconfig(path, s.Endpoint(), isRunning)
	if err == nil && !own {
		err = s.export(path)
	}
	if err != nil {
		return "", fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return path, nil
}

// export registers a kubeconfig outside the run directory for removal with it.
func (s *Sandbox) export(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.Remove(s.dir.file(wire.ExportedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.dir.write(wire.ExportedFile, wire.Export(path, kubeconfig(s.Endpoint())))
}

// ErrInUse means that a kubeconfig belongs to a running sandbox.
var ErrInUse = errors.New("in use by a running sandbox")

// CheckKubeconfig reports, before a sandbox is started, why WriteKubeconfig would not
// write to path. Its error wraps ErrInUse or fs.ErrExist if the file must not be
// replaced.
func CheckKubeconfig(path string) error {
	if err := mayReplace(path, nil, isRunning); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}

// mayReplace reports why a file must not be replaced by the kubeconfig of the sandbox
// with the authority own.
func mayReplace(path string, own []byte, running func(Endpoint) bool) error {
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	ep, written := writtenFor(old)
	switch {
	case !written:
		return fmt.Errorf("file exists and was not written by a sandbox, or was modified: %w", fs.ErrExist)
	case !bytes.Equal(ep.CA, own) && running(ep):
		return fmt.Errorf("%w: use another file, or stop that sandbox first", ErrInUse)
	}
	return nil
}

// isRunning reports whether a sandbox runs: one of this user, or one that responds.
func isRunning(ep Endpoint) bool {
	if Recognise(ep.CA) {
		return true
	}
	server, err := url.Parse(ep.URL)
	roots := x509.NewCertPool()
	if err != nil || !net.ParseIP(server.Hostname()).IsLoopback() || !roots.AppendCertsFromPEM(ep.CA) {
		return false
	}
	dialer := &net.Dialer{Timeout: answersWithin}
	conn, err := tls.DialWithDialer(dialer, "tcp", server.Host, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// answersWithin is how long a sandbox on this machine may take to respond.
const answersWithin = time.Second

func writeKubeconfig(path string, ep Endpoint, running func(Endpoint) bool) error {
	if err := mayReplace(path, ep.CA, running); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*")
	if err != nil {
		return err
	}
	if _, err = f.Write(kubeconfig(ep)); err == nil {
		err = f.Chmod(0o600)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// kubeconfigValue matches a line of a kubeconfig that differs between sandboxes.
var kubeconfigValue = regexp.MustCompile(`(?m)^    (?:server|certificate-authority-data|token): (.*)$`)

// writtenFor is the sandbox for which this package wrote a file; false for a file that
// it did not write, or that was modified.
func writtenFor(text []byte) (Endpoint, bool) {
	values := kubeconfigValue.FindAllSubmatch(text, -1)
	if len(values) != 3 {
		return Endpoint{}, false
	}
	ca, err := base64.StdEncoding.DecodeString(string(values[1][1]))
	ep := Endpoint{URL: string(values[0][1]), CA: ca, Token: string(values[2][1])}
	return ep, err == nil && bytes.Equal(text, kubeconfig(ep))
}

// kubeconfig needs no encoder: base64, the token and the URL are plain scalars.
func kubeconfig(ep Endpoint) []byte {
	return fmt.Appendf(nil, kubeconfigHeader+`apiVersion: v1
kind: Config
current-context: %[1]s
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[1]s
users:
- name: %[1]s
  user:
    token: %[4]s
`, ContextName, ep.URL, base64.StdEncoding.EncodeToString(ep.CA), ep.Token)
}
