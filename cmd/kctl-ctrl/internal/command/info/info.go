// Package info is the command that says where this program keeps its files and what of its
// surroundings it goes by.
package info

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/userconfig"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// programInfo is what `info -o json` prints: where this program keeps what, and
// what of its surroundings it goes by.
type programInfo struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Version    about.VersionInfo `json:"version"`

	Kubeconfig []pathInfo `json:"kubeconfig"`
	// Configuration is the user's, whether there is one or not.
	Configuration pathInfo `json:"configuration"`
	State         pathInfo `json:"stateDirectory"`
	Log           pathInfo `json:"log"`
	// Recordings is where the screen saves, and what is there.
	Recordings     pathInfo   `json:"recordingsDirectory"`
	RecordingFiles []pathInfo `json:"recordings"`
	// Sockets are the directories in which running processes are looked for, best
	// first, and Processes those that answered.
	Sockets   []pathInfo      `json:"socketDirectories"`
	Processes []state.Process `json:"processes"`
	// SandboxBases are the directories for run directories, best first.
	SandboxBases []pathInfo   `json:"sandboxDirectories"`
	Sandboxes    []runDirInfo `json:"sandboxes"`

	Terminal    terminalInfo `json:"terminal"`
	Environment []variable   `json:"environment"`
}

// pathInfo is a file or directory, whether it is there, and of what size.
type pathInfo struct {
	Path   string    `json:"path"`
	Exists bool      `json:"exists"`
	Bytes  int64     `json:"bytes,omitempty"`
	Time   time.Time `json:"modified,omitzero"`
	// Problem says why nothing is known of it.
	Problem string `json:"problem,omitempty"`
}

type runDirInfo struct {
	Path    string `json:"path"`
	Running bool   `json:"running"`
}

type terminalInfo struct {
	// Stdout is whether standard output is a terminal, of Width columns.
	Stdout bool   `json:"stdout"`
	Stderr bool   `json:"stderr"`
	Width  int    `json:"width,omitempty"`
	Term   string `json:"term,omitempty"`
	// Color is what --color=auto comes to, and Why the reason.
	Color bool   `json:"color"`
	Why   string `json:"why"`
}

type variable struct {
	Name  string `json:"name"`
	Set   bool   `json:"set"`
	Value string `json:"value,omitempty"`
	// Means says what it does.
	Means string `json:"means"`
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Say where this program keeps its files and what it goes by",
		Long: `Print the version, the files and directories that this program reads and writes
(the log of the embedded components among them), the kctl-ctrl processes and
sandboxes of this user that are running, how the terminal was recognised, and the
environment variables that count. It asks no cluster and changes nothing.`,
		Args: cliflags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := printing.CheckFormat(output, "json", "yaml"); err != nil {
				return err
			}
			info := gatherInfo(streams, os.Getenv)
			peers, _ := attach.Find(cmd.Context(), attach.Directories(os.Getenv))
			for _, p := range peers {
				info.Processes = append(info.Processes, p.Process())
			}
			if output != "" {
				return printing.Document(streams.Out, output, info)
			}
			return info.write(streams.Out)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml")
	return cmd
}

func gatherInfo(streams genericiooptions.IOStreams, getenv func(string) string) programInfo {
	info := programInfo{
		APIVersion: about.APIVersion, Kind: "Info", Version: about.Version(),
		Kubeconfig: []pathInfo{}, RecordingFiles: []pathInfo{}, Sockets: []pathInfo{}, Processes: []state.Process{},
		SandboxBases: []pathInfo{}, Sandboxes: []runDirInfo{}, Environment: variables(getenv), Terminal: terminalOf(streams, getenv),
	}
	for _, path := range clientcmd.NewDefaultPathOptions().GetLoadingPrecedence() {
		info.Kubeconfig = append(info.Kubeconfig, lookAt(path))
	}
	if path, err := userconfig.Path(getenv); err != nil {
		info.Configuration = pathInfo{Problem: err.Error()}
	} else if info.Configuration = lookAt(path); info.Configuration.Exists {
		if _, err := userconfig.Load(getenv); err != nil {
			info.Configuration.Problem = err.Error()
		}
	}
	if dir, err := about.StateDir(); err != nil {
		info.State = pathInfo{Problem: err.Error()}
		info.Log, info.Recordings = info.State, info.State
	} else {
		info.State, info.Log = lookAt(dir), lookAt(filepath.Join(dir, about.LogName))
	}
	if dir, err := about.RecordingsDir(); err == nil {
		info.Recordings = lookAt(dir)
		files, _ := os.ReadDir(dir) // what is not there is said above
		for _, f := range files {
			if f.Type().IsRegular() {
				info.RecordingFiles = append(info.RecordingFiles, lookAt(filepath.Join(dir, f.Name())))
			}
		}
	}
	for _, dir := range attach.Directories(getenv) {
		info.Sockets = append(info.Sockets, lookAt(dir))
	}
	places, dirs := sandbox.RunDirs()
	for _, dir := range places {
		info.SandboxBases = append(info.SandboxBases, lookAt(dir))
	}
	for _, dir := range dirs {
		info.Sandboxes = append(info.Sandboxes, runDirInfo{Path: dir.Path, Running: dir.Running})
	}
	return info
}

func lookAt(path string) pathInfo {
	p := pathInfo{Path: path}
	found, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
	case err != nil:
		p.Problem = err.Error()
	default:
		p.Exists = true
		if !found.IsDir() {
			p.Bytes, p.Time = found.Size(), found.ModTime().UTC()
		}
	}
	return p
}

// variables lists what this program looks for in its environment.
func variables(getenv func(string) string) []variable {
	list := []variable{
		{Name: "KUBECONFIG", Means: "kubeconfig files, instead of ~/.kube/config"},
		{Name: "NO_COLOR", Means: "set and not empty: no colours"},
		{Name: "TERM", Means: "dumb: no colours, no cursor movement"},
		{Name: "COLORTERM", Means: "truecolor: 16 million colours on the screen"},
		{Name: "XDG_CONFIG_HOME", Means: "where the configuration lies"},
		{Name: "XDG_STATE_HOME", Means: "where the state directory lies"},
		{Name: "XDG_RUNTIME_DIR", Means: "where sockets and sandboxes lie"},
		{Name: "TMPDIR", Means: "where they lie otherwise"},
		{Name: "KCTL_CTRL_ATTACH_DIR", Means: "the only directory for sockets"},
		{Name: "HTTPS_PROXY", Means: "the way to a cluster; never to a sandbox"},
		{Name: "NO_PROXY", Means: "hosts that are reached directly"},
	}
	for i := range list {
		v := getenv(list[i].Name)
		list[i].Set, list[i].Value = v != "", v
		if list[i].Name == "HTTPS_PROXY" && v != "" {
			list[i].Value = "(not shown: it may hold a password)"
		}
	}
	return list
}

func terminalOf(streams genericiooptions.IOStreams, getenv func(string) string) terminalInfo {
	t := terminalInfo{Stdout: console.IsTerminal(streams.Out), Stderr: console.IsTerminal(streams.ErrOut), Width: console.Width(streams.Out), Term: getenv("TERM")}
	t.Color, _ = console.Color("auto", streams.Out)
	switch {
	case getenv("NO_COLOR") != "":
		t.Why = "NO_COLOR is set"
	case t.Term == "dumb":
		t.Why = "TERM is dumb"
	case !t.Stdout:
		t.Why = "standard output is not a terminal"
	default:
		t.Why = "standard output is a terminal"
	}
	return t
}

// write prints it as lines for people.
func (p programInfo) write(out io.Writer) error {
	table := render.Table{Columns: []render.Column{{Title: "WHAT"}, {Title: "WHERE"}, {Title: "STATE"}}}
	row := func(what, where, how string) { table.Rows = append(table.Rows, []string{what, where, how}) }
	paths := func(what string, list ...pathInfo) {
		for _, p := range list {
			row(what, render.OrNone(p.Path), p.describe())
			what = ""
		}
	}
	row("version", "kctl-ctrl "+p.Version.Version, "loops of Kubernetes "+p.Version.Kubernetes)
	paths("kubeconfig", p.Kubeconfig...)
	paths("configuration", p.Configuration)
	paths("state directory", p.State)
	paths("log", p.Log)
	paths("recordings", slices.Concat([]pathInfo{p.Recordings}, p.RecordingFiles)...)
	paths("socket directories", p.Sockets...)
	what := "processes"
	for _, process := range p.Processes {
		row(what, process.Source, fmt.Sprintf("context %s, %s", process.Context, process.Mode))
		what = ""
	}
	paths("sandbox directories", p.SandboxBases...)
	what = "sandboxes"
	for _, s := range p.Sandboxes {
		how := "left over: the next sandbox removes it"
		if s.Running {
			how = "running"
		}
		row(what, s.Path, how)
		what = ""
	}
	size := "not a terminal"
	if p.Terminal.Stdout {
		size = strings.TrimSpace(p.Terminal.Term + " " + strconv.Itoa(p.Terminal.Width) + " columns")
	}
	row("terminal", size, fmt.Sprintf("colours %s: %s", onOff(p.Terminal.Color), p.Terminal.Why))
	for _, v := range p.Environment {
		value := "not set"
		if v.Set {
			value = v.Value
		}
		row(v.Name, value, v.Means)
	}
	return table.Write(out, render.TableOptions{})
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (p pathInfo) describe() string {
	switch {
	case p.Problem != "":
		return p.Problem
	case !p.Exists:
		return "not there"
	case p.Bytes > 0:
		return printing.Size(p.Bytes)
	}
	return "there"
}
