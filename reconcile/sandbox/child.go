package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// inherited lists the environment variables that the child inherits. Others, such as a
// proxy's, must not change how a control plane behaves.
var inherited = []string{"PATH", "HOME", "TMPDIR", "TZ", "GODEBUG", "GOMAXPROCS", "GOTRACEBACK", "GOCOVERDIR"}

func childEnviron(environ []string, dir string) []string {
	// PWD keeps the path of the run directory as short as it is here, even if a part of
	// it is a symbolic link (/tmp on darwin).
	env := []string{wire.Env + "=" + wire.ControlPlane, "PWD=" + dir}
	for _, variable := range environ {
		if name, _, _ := strings.Cut(variable, "="); slices.Contains(inherited, name) {
			env = append(env, variable)
		}
	}
	return env
}

// configure writes the run directory and sends the child its configuration.
func (s *Sandbox) configure(config *wire.Config, audit AuditLevel) error {
	_, services, err := net.ParseCIDR(config.ServiceCIDR)
	if err != nil {
		return fmt.Errorf("service CIDR: %w", err)
	}
	serviceIP := services.IP.To4()
	serviceIP[3]++ // the first address is that of Service default/kubernetes
	if s.credentials, err = newCredentials(time.Now(), serviceIP); err != nil {
		return err
	}
	if audit != AuditNone {
		s.credentials.files[wire.AuditPolicyFile] = auditPolicy(audit)
	}
	for name, content := range s.credentials.files {
		if err := s.dir.write(name, content); err != nil {
			return fmt.Errorf("write keys: %w", err)
		}
	}
	s.credentials.files = nil
	if err := json.NewEncoder(s.control).Encode(config); err != nil {
		return fmt.Errorf("configure control plane: %w", err)
	}
	return nil
}

// auditPolicy logs every request at one level, once: when it is answered, or when a
// watch starts. It omits values of Secrets and tokens, except for the bodies of
// deletes, which have no values and show whether it was a dry run.
func auditPolicy(level AuditLevel) []byte {
	deletes := level
	if level == AuditRequestResponse {
		deletes = AuditRequest // the answer may be the object
	}
	return fmt.Appendf(nil, `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: %s
  verbs: [delete, deletecollection]
  resources:
  - {group: "", resources: [secrets]}
- level: %s
  resources:
  - {group: "", resources: [secrets, serviceaccounts/token]}
  - {group: authentication.k8s.io, resources: [tokenreviews]}
- level: %s
`, deletes, AuditMetadata, level)
}

// readEvents passes on the child's events until it receives another type of event or
// the child closes its end.
func readEvents(from *os.File, to chan<- wire.Event) {
	defer close(to)
	defer from.Close()
	decoder := json.NewDecoder(from)
	for {
		var event wire.Event
		if decoder.Decode(&event) != nil {
			return
		}
		to <- event
	}
}

// lastWords describes why the child ended, to be appended to an error: its own reason
// or, without one, its exit status and the last lines of its log. The child must have
// exited.
func (s *Sandbox) lastWords() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastWordsLocked()
}

func (s *Sandbox) lastWordsLocked() string {
	if s.failure != "" {
		return ": " + s.failure
	}
	words := ": " + s.cmd.ProcessState.String()
	if tail := logTail(s.log); tail != "" {
		words += "\nlast log lines:\n" + tail
	}
	return words
}

const (
	tailBytes = 16 << 20 // a crash of 2,700 goroutines writes 5 MB
	tailLines = 12
)

// crash matches the first line that the Go runtime or klog.Fatal print before a process
// ends.
var crash = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: |F\d{4} )`)

// logTail returns the last lines of a log or, after a crash, the first lines of its
// report.
func logTail(log *os.File) string {
	info, err := log.Stat()
	if err != nil {
		return ""
	}
	buf := make([]byte, min(info.Size(), tailBytes))
	n, _ := log.ReadAt(buf, info.Size()-int64(len(buf)))
	lines := strings.Split(strings.TrimRight(string(buf[:n]), "\n"), "\n")
	if i := slices.IndexFunc(lines, crash.MatchString); i >= 0 {
		lines = lines[i:min(i+tailLines, len(lines))]
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
