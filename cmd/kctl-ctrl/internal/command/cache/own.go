package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/served"
	"github.com/kctl-ctrl/kctl-ctrl/watch/attach"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ownCache reads one type by an informer of this command's, where no kctl-ctrl runs
// controllers on the cluster.
type ownCache struct {
	cacheQuery attach.CacheQuery
	config     *rest.Config
	context    string
	began      time.Time
	progress   func(string)
}

// unrecorded drops what informers observe: the command has no journal.
type unrecorded struct{}

func (unrecorded) Record(state.Event) {}

// view opens the informer, waits until it has synced and gives what it holds. ctx
// bounds all of it.
func (c *ownCache) view(ctx context.Context) (state.CacheView, error) {
	q := c.cacheQuery
	c.progress("asking for the types of the API server")
	t, err := (&served.Types{Config: c.config}).Find(ctx, q.Type)
	if err != nil {
		return state.CacheView{}, c.late(ctx, explain.Error(err, "look for the type "+q.Type))
	}
	if !t.Namespaced {
		q.Namespace = ""
	}
	set, err := informers.New(c.config, informers.Options{Recorder: unrecorded{}, Name: "cache", Grace: -1, Heartbeat: -1})
	if err != nil {
		return state.CacheView{}, err
	}
	defer set.Close()
	contents := informers.Metadata
	if q.Whole {
		contents = informers.Whole
	}
	handle, err := set.Open(t, q.Namespace, contents)
	if err != nil {
		return state.CacheView{}, err
	}
	defer handle.Close()
	if err := c.sync(ctx, handle); err != nil {
		return state.CacheView{}, err
	}
	c.progress("comparing with the API server")
	view := state.CacheView{}
	if q.Name != "" {
		err = c.one(ctx, handle, q, &view)
	} else {
		view.Objects, err = ownObjects(handle, q.Whole)
		if q.Compare {
			view.Server = informers.CompareList(ctx, c.config, t, q.Namespace, q.Wait, func() string { return handle.Stats().ResourceVersion })
		}
	}
	view.Store = handle.Stats()
	return view, err
}

// lookAgain is how often it is looked whether an informer has synced.
const lookAgain = 20 * time.Millisecond

// sync waits for the informer's first list.
func (c *ownCache) sync(ctx context.Context, handle *informers.Handle) error {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		stats := handle.Stats()
		if stats.Synced {
			return nil
		}
		if err := handle.Refused(); err != nil {
			return explain.Error(err, "list and watch "+stats.Type)
		}
		c.progress(readSoFar(stats))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return c.late(ctx, errors.New(readSoFar(stats)))
		}
	}
}

// late is the error of a wait that ended early: what is missing, and why.
func (c *ownCache) late(ctx context.Context, missing error) error {
	if !errors.Is(context.Cause(ctx), errNotSynced) {
		return missing
	}
	return fmt.Errorf("the informer has not synced within %s: %w", state.Short(time.Since(c.began)), missing)
}

// errNotSynced ends the wait for an informer.
var errNotSynced = errors.New("the informer has not synced in time")

// readSoFar says how far a first list is.
func readSoFar(s state.StoreStats) string {
	text := fmt.Sprintf("reading %s: %d objects", s.Type, s.Arrived)
	if s.Expected > s.Arrived {
		text = fmt.Sprintf("reading %s: %d of %d objects", s.Type, s.Arrived, s.Expected)
	}
	if s.Status == state.InformerFailed && s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}

// ownObjects are the objects that an informer holds, by namespace and name.
func ownObjects(handle *informers.Handle, whole bool) ([]state.CachedObject, error) {
	window, err := handle.Window(informers.Query{}, 0, handle.Stats().Objects)
	if err != nil {
		return nil, err
	}
	out := make([]state.CachedObject, len(window.Rows))
	for i, row := range window.Rows {
		out[i] = cachedRow(row)
		if !whole {
			continue
		}
		if o, held := handle.Object(row.Namespace, row.Name); held {
			out[i].Object = o.Content
		}
	}
	return out, nil
}

func cachedRow(row informers.Row) state.CachedObject {
	return state.CachedObject{Ref: row.Ref, ResourceVersion: row.ResourceVersion, Created: row.Created, Deleting: row.Deleting}
}

// one looks at a single object; see engine.Host.Cache.
func (c *ownCache) one(ctx context.Context, handle *informers.Handle, q attach.CacheQuery, view *state.CacheView) error {
	if q.Compare {
		view.Server = informers.CompareObject(ctx, c.config, handle.Type(), q.Namespace, q.Name, q.Wait, func() (string, bool) {
			o, held := handle.Object(q.Namespace, q.Name)
			return o.ResourceVersion, held
		})
	}
	view.Objects = []state.CachedObject{}
	o, held := handle.Object(q.Namespace, q.Name)
	switch {
	case held:
		object := cachedRow(o.Row)
		if q.Whole {
			object.Object = o.Content
		}
		view.Objects = append(view.Objects, object)
	case view.Server == nil || view.Server.Freshness != state.Missing:
		ref := state.Ref{Namespace: q.Namespace, Name: q.Name}
		return &attach.NotFoundError{Text: fmt.Sprintf("%s %s not found", handle.Type(), ref.Key())}
	}
	return nil
}

// process describes this command, for who reads its output.
func (c *ownCache) process() state.Process {
	return state.Process{
		Source: "an informer of this command", PID: os.Getpid(), Verb: "cache", Version: about.Version().Version,
		Context: c.context, Namespace: c.cacheQuery.Namespace, Mode: state.ModeReadOnly, Started: c.began, Server: c.config.Host,
	}
}

// readOwn is what the command does where there is no process to look into.
func (o *Options) readOwn(ctx context.Context, in cliflags.Cluster) (state.CacheView, state.Process, error) {
	config, err := cliflags.ReadOnlyConfig(in.Flags)
	if err != nil {
		return state.CacheView{}, state.Process{}, err
	}
	config.Wrap(connect.NewWatches(nil).Wrap)
	name, err := cliflags.ContextOf(in.Flags.ToRawKubeConfigLoader(), cliflags.ValueOf(in.Flags.Context))
	if err != nil {
		return state.CacheView{}, state.Process{}, err
	}
	fmt.Fprintf(o.ErrOut, "no kctl-ctrl runs controllers on this cluster: reading %s with an informer of this command\n", o.query.Type)
	progress := console.NewProgress(o.ErrOut)
	defer progress.Done()
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, errNotSynced)
	defer cancel()
	own := &ownCache{cacheQuery: o.query, config: config, context: cmp.Or(in.Name, name), began: time.Now(), progress: progress.Line}
	view, err := own.view(ctx)
	return view, own.process(), err
}

// notSynced is the error of a view of a process's informer that has no first list:
// nothing that is missing in it is known to be missing in the cluster.
func notSynced(view state.CacheView, process state.Process) error {
	s := view.Store
	text := fmt.Sprintf("the informer of %s in %s has not synced: it holds %d objects", s.Type, process.Source, s.Objects)
	if s.Expected > s.Objects {
		text += fmt.Sprintf(" of %d", s.Expected)
	}
	if s.Reason != "" {
		text += " (" + state.OneLine(s.Reason) + ")"
	}
	return errors.New(text + "; --timeout waits longer, --attach=none reads the type with an informer of this command")
}
