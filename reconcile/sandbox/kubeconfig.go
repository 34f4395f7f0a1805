package sandbox

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// ContextName is the name of the context in the kubeconfig of a sandbox. It is
// for people to read: Recognise tells a sandbox from another cluster, never this
// name.
const ContextName = "kctl-ctrl-sandbox"

// kubeconfigHeader is the first line of each kubeconfig that this package writes.
const kubeconfigHeader = "# kctl-ctrl sandbox: valid while the sandbox runs\n"

// WriteKubeconfig writes a kubeconfig for the administrator, mode 0600, and
// returns its path. An empty path means the file "kubeconfig" in the run
// directory; any other outlives the sandbox and is the caller's to remove.
//
// The file appears complete or not at all. One that is there already is replaced
// only if it is as WriteKubeconfig wrote it: credentials of another cluster are not
// overwritten, nor is what somebody has added to it.
func (s *Sandbox) WriteKubeconfig(path string) (string, error) {
	if path == "" {
		path = s.dir.file(wire.KubeconfigFile)
	}
	if err := writeKubeconfig(path, s.Endpoint()); err != nil {
		return "", fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return path, nil
}

func writeKubeconfig(path string, ep Endpoint) error {
	old, err := os.ReadFile(path)
	if err == nil && !isWritten(old) {
		return fmt.Errorf("file exists and is not a sandbox's, or has been changed since: %w", fs.ErrExist)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// kubeconfigValue is a line of a kubeconfig that differs from one sandbox to another.
var kubeconfigValue = regexp.MustCompile(`(?m)^    (?:server|certificate-authority-data|token): (.*)$`)

// isWritten reports whether a file is a kubeconfig as this package wrote it, for
// whatever sandbox.
func isWritten(text []byte) bool {
	values := kubeconfigValue.FindAllSubmatch(text, -1)
	if len(values) != 3 {
		return false
	}
	ca, err := base64.StdEncoding.DecodeString(string(values[1][1]))
	return err == nil && bytes.Equal(text, kubeconfig(Endpoint{URL: string(values[0][1]), CA: ca, Token: string(values[2][1])}))
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
