// Package look finds the controllers that a command looks into: those of a running
// process of this program, by its socket; those of a recording; or, where neither is
// there, controllers that are started for it, dry, by what is handed in as Controllers.
package look

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

// None is the value of --attach that looks at no running process.
const None = "none"

// Flags say into which process a verb looks.
type Flags struct {
	// Controllers are started where no process runs any; nil starts none.
	Controllers Controllers

	Attach    string
	duration  time.Duration
	Recording recorded.Flags
	// flags are the command's, to see which were set.
	flags *pflag.FlagSet
	// Missing counts the loops that were to be started here and cannot run for want
	// of rights.
	Missing int
	// Unsynced are the informers that were started here and have not synced.
	Unsynced []string
}

// Controllers are those of this program, which are started for a look.
type Controllers interface {
	// AddFlags registers the flags that say which.
	AddFlags(flags *pflag.FlagSet)
	// Start runs them dry on a cluster for a while, and says on standard error what is
	// missing.
	Start(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster, during time.Duration) (Started, error)
}

// Started are controllers that were started for a look.
type Started struct {
	Host attach.Host
	// End ends it.
	End func()
	// Missing counts the controllers that cannot run for want of rights, and Unsynced are
	// the informers that have not synced.
	Missing  int
	Unsynced []string
}

// AddTo registers the flags.
func (a *Flags) AddTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	a.flags = flags
	a.AddAttach(cmd, "look into the kctl-ctrl with this process id; none starts loops in any case")
	flags.DurationVar(&a.duration, "for", 5*time.Second, "where no kctl-ctrl runs loops on this cluster: run them dry for this long")
	if a.Controllers != nil {
		a.Controllers.AddFlags(flags)
	}
}

// AddAttach registers the flag that names the process.
func (a *Flags) AddAttach(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&a.Attach, "attach", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("attach", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		offered := []string{None}
		peers, _ := attach.Find(cmd.Context(), attach.Directories(os.Getenv))
		for _, p := range peers {
			offered = append(offered, strconv.Itoa(p.Process().PID)+"\t"+describeProcess(p.Process()))
		}
		return complete.StartingWith(word, offered), cobra.ShellCompDirectiveNoFileComp
	})
}

// Check refuses what cannot be meant.
func (a *Flags) Check() error {
	if err := a.Recording.Check(); err != nil {
		return err
	}
	if a.Recording.Given() && a.Attach != "" {
		return errors.New("--from and --attach exclude each other")
	}
	if a.duration < 0 {
		return errors.New("--for must not be negative")
	}
	if a.Attach == "" || a.Attach == None {
		return nil
	}
	if pid, err := strconv.Atoi(a.Attach); err != nil || pid <= 0 {
		return fmt.Errorf("--attach %q: want a process id, or %s", a.Attach, None)
	}
	return nil
}

// Open finds the process to look into, or starts loops in this one, and says on
// standard error which it is. closing must be called in either case but an error.
func (a *Flags) Open(ctx context.Context, streams genericiooptions.IOStreams, cluster *genericclioptions.ConfigFlags) (host attach.Host, closing func(), err error) {
	one, err := cliflags.OneCluster(cluster, "several contexts")
	if err != nil {
		return nil, nil, err
	}
	return a.OpenIn(ctx, streams, one)
}

// OpenIn is Open for one of several contexts.
func (a *Flags) OpenIn(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster) (host attach.Host, closing func(), err error) {
	if a.Recording.Given() {
		host, err := a.Recording.Host(streams.ErrOut)
		return host, func() {}, err
	}
	if a.Attach != None {
		peer, err := a.Running(ctx, streams, in)
		if err != nil {
			return nil, nil, err
		}
		if peer != nil {
			a.warnOfIdle(streams.ErrOut, peer.Process())
			return peer, func() {}, nil
		}
	}
	if a.Controllers == nil {
		return nil, nil, errors.New("look into controllers: none runs, and none can be started")
	}
	begun, err := a.Controllers.Start(ctx, streams, in, a.duration)
	a.Missing += begun.Missing
	a.Unsynced = append(a.Unsynced, begun.Unsynced...)
	return begun.Host, begun.End, err
}

// Incomplete is the error of a command whose answer lacks what informers have not listed.
func (a *Flags) Incomplete() error {
	if len(a.Unsynced) == 0 {
		return nil
	}
	subject := fmt.Sprintf("%d informers have", len(a.Unsynced))
	if len(a.Unsynced) == 1 {
		subject = "1 informer has"
	}
	return fmt.Errorf("the answer is incomplete: %s not synced: %s", subject, state.Few(a.Unsynced, "; "))
}

// Running is the process to look into, or nil, and says on a terminal which it is.
func (a *Flags) Running(ctx context.Context, streams genericiooptions.IOStreams, in cliflags.Cluster) (*attach.Peer, error) {
	peer, err := a.peer(ctx, streams.ErrOut, in.Flags)
	if peer != nil && console.IsTerminal(streams.ErrOut) {
		fmt.Fprintf(streams.ErrOut, "looking into %s\n", describeProcess(peer.Process()))
	}
	return peer, err
}

// warnOfIdle names the flags that do nothing because a running process is looked into.
func (a *Flags) warnOfIdle(stderr io.Writer, p state.Process) {
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
func (a *Flags) peer(ctx context.Context, stderr io.Writer, cluster *genericclioptions.ConfigFlags) (*attach.Peer, error) {
	peers, silent := attach.Find(ctx, attach.Directories(os.Getenv))
	if a.Attach != "" {
		for _, p := range peers {
			if strconv.Itoa(p.Process().PID) == a.Attach {
				return p, nil
			}
		}
		there := listProcesses(peers)
		if len(peers) > 0 {
			there = "it is none of yours that runs loops; these are: " + there
		}
		return nil, fmt.Errorf("look into kctl-ctrl process %s: %s", a.Attach, strings.Join(append([]string{there}, silent...), "; "))
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

// NoEffects are the flags that do nothing where nothing is started here: a recording
// answers, or a process that was named.
func (a *Flags) NoEffects() []cliflags.NoEffect {
	starting := []string{"for", "controllers"}
	return []cliflags.NoEffect{
		{In: a.Recording.Given(), Flags: append(cliflags.ClusterNames(), append(starting, "namespace")...), Why: "with --from, which answers from a recording: leave one of them out"},
		{In: a.Attach != "" && a.Attach != None, Flags: starting, Why: "with --attach=PID, which starts no controllers here: leave one of them out"},
	}
}
