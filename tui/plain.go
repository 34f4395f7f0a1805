package tui

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// PlainEvery is the least time between two looks of Plain.
const PlainEvery = time.Second

// Plain prints a page as lines, for screen readers and pipes: all rows at first,
// then each that came, changed or went, one line each, without any motion. It
// returns when ctx ends or the journal does.
//
//	[CAME] deployment, state running, depth 2
//	[CHANGED] deployment, state running, syncs/s 4
//	[GONE] shop/web
func Plain(ctx context.Context, o Options, w io.Writer) error {
	m := newModel(ctx, o)
	fmt.Fprintf(w, "[PAGE] %s\n", m.table[m.shown-1].name)
	m.page().update(shownMsg{}, m.env)
	before := map[string]string{}
	title := ""
	snapshots := make(chan nextMsg)
	go func() {
		var last *state.Snapshot
		for {
			snap, err := m.env.Journal.Next(ctx, last)
			select {
			case snapshots <- nextMsg{snap, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
			last = snap
		}
	}()
	ticker := time.NewTicker(PlainEvery)
	defer ticker.Stop()
	look := func() error {
		m.env.now = m.env.Now()
		if now := m.page().title(m.env); now != title {
			title = now
			if _, err := fmt.Fprintf(w, "[NOW] %s\n", render.Sanitise(title)); err != nil {
				return err
			}
		}
		return plainChanges(w, before, m.page().plain(m.env))
	}
	fresh := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-snapshots:
			if n.err != nil {
				return look()
			}
			first := m.env.snap.Seq == 0
			m.env.snap, m.env.latest, fresh = n.snap, n.snap, true
			m.page().update(snapshotMsg{}, m.env)
			if first {
				if err := look(); err != nil {
					return err
				}
			}
		case <-ticker.C:
			if !fresh {
				continue
			}
			fresh = false
			if err := look(); err != nil {
				return err
			}
		}
	}
}

// plainChanges prints what differs from before, and takes the rows over.
func plainChanges(w io.Writer, before map[string]string, now []plainRow) error {
	seen := make(map[string]bool, len(now))
	for _, r := range now {
		seen[r.id] = true
		old, had := before[r.id]
		what := "[CAME]"
		switch {
		case had && old == r.text:
			continue
		case had:
			what = "[CHANGED]"
		}
		before[r.id] = r.text
		if _, err := fmt.Fprintf(w, "%s %s\n", what, render.Sanitise(r.text)); err != nil {
			return err
		}
	}
	for id, text := range before {
		if !seen[id] {
			delete(before, id)
			if _, err := fmt.Fprintf(w, "[GONE] %s\n", render.Sanitise(text)); err != nil {
				return err
			}
		}
	}
	return nil
}
