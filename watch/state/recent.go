package state

// remember keeps an entry in Recent, its texts within their bounds. It runs
// before the entry is folded: whether a lease has a new holder is seen by the
// old one.
func (f *folder) remember(entry Entry) {
	switch e := entry.Event.(type) {
	case ObjectChanged:
		if e.Change == ChangeListed || e.Change == ChangeResync {
			return
		}
	case LeaseChanged:
		if old, ok := f.s.Leases.Get(ObjectID(e.Lease)); ok && !e.Deleted && old.Holder == e.Holder {
			return
		}
	case WriteFinished:
		if e.Heartbeat() {
			return
		}
		e.Message, e.Diff = f.text(e.Message), f.changes(e.Diff)
		entry.Event = e
	case KeyFinished:
		e.Error = f.text(e.Error)
		entry.Event = e
	case ControllerChanged:
		e.Reason, e.Queues = f.text(e.Reason), nil
		entry.Event = e
	case InformerChanged:
		e.Reason = f.text(e.Reason)
		entry.Event = e
	case Gap:
		e.Reason = f.text(e.Reason)
		entry.Event = e
	case Note:
		e.Text = f.text(e.Text)
		entry.Event = e
	case SessionStarted, KeyAdded, KeyReady, KeyTaken, KeyForgotten, KeyDropped, Dropped:
	default:
		return
	}
	f.s.Recent.push(entry, f.s.Limits.Recent)
}

// Heartbeat recognises a kubelet's renewal of its node's lease: one per node
// every ten seconds, for ever.
func (e WriteFinished) Heartbeat() bool {
	return e.Verb == "update" && (e.Result == WriteDone || e.Result == WriteDry) &&
		e.Object.Resource == "leases" && e.Object.Namespace == "kube-node-lease"
}
