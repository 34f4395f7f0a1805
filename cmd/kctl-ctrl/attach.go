package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/recorded"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// attachNone is the value of --attach that looks at no running process.
const attachNone = "none"

// attachFlags say into which process a verb looks.
type attachFlags struct {
	// Controllers start where no process runs any; nil starts none.
	controllers starter

	attach    string
	duration  time.Duration
	recording recorded.Flags
	// flags are the command's, to see which were set.
	flags *pflag.FlagSet
	// missing counts the loops that were to be started here and cannot run for want
	// of rights.
	missing int
	// unsynced are the informers that were started here and have not synced.
	unsynced []string
}

// starter runs controllers for a look.
type starter interface {
	// AddFlags registers the flags that say which.
	AddFlags(flags *pflag.FlagSet)
	// Start runs them dry on a cluster for a while, and says on standard error what is
	// missing.
	Start(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster, during time.Duration) (started, error)
}

// started is what a starter has started.
type started struct {
	host attach.Host
	// end ends it.
	end func()
	// missing counts the controllers that cannot run for want of rights, and unsynced are
	// the informers that have not synced.
	missing  int
	unsynced []string
}

func (a *attachFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	a.flags = flags
	a.addAttach(cmd, "look into the kctl-ctrl with this process id; none starts loops in any case")
	flags.DurationVar(&a.duration, "for", 5*time.Second, "where no kctl-ctrl runs loops on this cluster: run them dry for this long")
	if a.controllers != nil {
		a.controllers.AddFlags(flags)
	}
}

// addAttach registers the flag that names the process.
func (a *attachFlags) addAttach(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&a.attach, "attach", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("attach", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		offered := []string{attachNone}
		peers, _ := attach.Find(cmd.Context(), attach.Directories(os.Getenv))
		for _, p := range peers {
			offered = append(offered, strconv.Itoa(p.Process().PID)+"\t"+describeProcess(p.Process()))
		}
		return complete.StartingWith(word, offered), cobra.ShellCompDirectiveNoFileComp
	})
}

func (a *attachFlags) check() error {
	if err := a.recording.Check(); err != nil {
		return err
	}
	if a.recording.Given() && a.attach != "" {
		return errors.New("--from and --attach exclude each other")
	}
	if a.duration < 0 {
		return errors.New("--for must not be negative")
	}
	if a.attach == "" || a.attach == attachNone {
		return nil
	}
	if pid, err := strconv.Atoi(a.attach); err != nil || pid <= 0 {
		return fmt.Errorf("--attach %q: want a process id, or %s", a.attach, attachNone)
	}
	return nil
}

// open finds the process to look into, or starts loops in this one, and says on
// standard error which it is. closing must be called in either case but an error.
func (a *attachFlags) open(ctx context.Context, streams genericiooptions.IOStreams, cluster *genericclioptions.ConfigFlags) (host attach.Host, closing func(), err error) {
	one, err := cliflags.OneCluster(cluster, "several contexts")
	if err != nil {
		return nil, nil, err
	}
	return a.openIn(ctx, streams, one)
}

// openIn is open for one of several contexts.
func (a *attachFlags) openIn(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster) (host attach.Host, closing func(), err error) {
	if a.recording.Given() {
		host, err := a.recording.Host(streams.ErrOut)
		return host, func() {}, err
	}
	if a.attach != attachNone {
		peer, err := a.running(ctx, streams, in)
		if err != nil {
			return nil, nil, err
		}
		if peer != nil {
			a.warnOfIdle(streams.ErrOut, peer.Process())
			return peer, func() {}, nil
		}
	}
	if a.controllers == nil {
		return nil, nil, errors.New("look into controllers: none runs, and none can be started")
	}
	begun, err := a.controllers.Start(ctx, streams, in, a.duration)
	a.missing += begun.missing
	a.unsynced = append(a.unsynced, begun.unsynced...)
	return begun.host, begun.end, err
}

// incomplete is the error of a command whose answer lacks what informers have not listed.
func (a *attachFlags) incomplete() error {
	if len(a.unsynced) == 0 {
		return nil
	}
	subject := fmt.Sprintf("%d informers have", len(a.unsynced))
	if len(a.unsynced) == 1 {
		subject = "1 informer has"
	}
	return fmt.Errorf("the answer is incomplete: %s not synced: %s", subject, state.Few(a.unsynced, "; "))
}

// running is the process to look into, or nil, and says on a terminal which it is.
func (a *attachFlags) running(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster) (*attach.Peer, error) {
	peer, err := a.peer(ctx, streams.ErrOut, in.Flags)
	if peer != nil && console.IsTerminal(streams.ErrOut) {
		fmt.Fprintf(streams.ErrOut, "looking into %s\n", describeProcess(peer.Process()))
	}
	return peer, err
}

// warnOfIdle names the flags that do nothing because a running process is looked into.
func (a *attachFlags) warnOfIdle(stderr io.Writer, p state.Process) {
	if a.flags == nil {
		return
	}
	for _, name := range []string{"for", "controllers"} {
		if a.flags.Changed(name) {
			fmt.Fprintf(stderr, "warning: --%s has no effect: %s is looked into, and no controllers are started here; --attach=none starts some\n", name, describeProcess(p))
		}
	}
}

// peer gives the running process that was asked for, or the only one that works
// on the current context's cluster; nil where there is none.
func (a *attachFlags) peer(ctx context.Context, stderr io.Writer, cluster *genericclioptions.ConfigFlags) (*attach.Peer, error) {
	peers, silent := attach.Find(ctx, attach.Directories(os.Getenv))
	if a.attach != "" {
		for _, p := range peers {
			if strconv.Itoa(p.Process().PID) == a.attach {
				return p, nil
			}
		}
		there := listProcesses(peers)
		if len(peers) > 0 {
			there = "it is none of yours that runs loops; these are: " + there
		}
		return nil, fmt.Errorf("look into kctl-ctrl process %s: %s", a.attach, strings.Join(append([]string{there}, silent...), "; "))
	}
	for _, s := range silent {
		fmt.Fprintln(stderr, "warning:", s)
	}
	target, err := connect.TargetOf(cluster.ToRawKubeConfigLoader())
	switch {
	case errors.Is(err, connect.ErrNoCluster): // whatever runs is meant
	case err != nil:
		return nil, err
	default:
		elsewhere := slices.Clone(peers)
		peers = slices.DeleteFunc(peers, func(p *attach.Peer) bool { return p.Process().Server != target.URL })
		if len(peers) == 0 && len(elsewhere) > 0 {
			fmt.Fprintf(stderr, "not this cluster, and not asked: %s; --attach=PID does\n", listProcesses(elsewhere))
		}
	}
	switch len(peers) {
	case 0:
		return nil, nil
	case 1:
		return peers[0], nil
	}
	return nil, fmt.Errorf("several processes of yours can be looked into: %s: choose one with --attach=PID", listProcesses(peers))
}

func listProcesses(peers []*attach.Peer) string {
	if len(peers) == 0 {
		return "no other kctl-ctrl of yours is running loops"
	}
	var names []string
	for _, p := range peers {
		names = append(names, describeProcess(p.Process()))
	}
	return strings.Join(names, "; ")
}

// describeProcess says what runs where: "run, process 4711 (context staging,
// dry-run=client, since 15:04:05)".
func describeProcess(p state.Process) string {
	return fmt.Sprintf("%s (context %s, %s, since %s)", p.Source, p.Context, p.Mode, p.Started.Local().Format(time.TimeOnly))
}

// noEffects are the flags that do nothing where nothing is started here: a recording
// answers, or a process that was named.
func (a *attachFlags) noEffects() []cliflags.NoEffect {
	starting := []string{"for", "controllers"}
	return []cliflags.NoEffect{
		{In: a.recording.Given(), Flags: append(cliflags.ClusterNames(), append(starting, "namespace")...), Why: "with --from, which answers from a recording: leave one of them out"},
		{In: a.attach != "" && a.attach != attachNone, Flags: starting, Why: "with --attach=PID, which starts no controllers here: leave one of them out"},
	}
}
