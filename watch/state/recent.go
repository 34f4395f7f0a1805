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
	}
	f.recall(entry, f.text, f.changes)
}

// recall puts an entry into Recent, where its type belongs there, its texts cut by
// text and changes.
func (f *folder) recall(entry Entry, text func(string) string, changes func([]FieldChange) []FieldChange) {
	switch e := entry.Event.(type) {
	case WriteFinished:
		e.Message, e.Diff = text(e.Message), changes(e.Diff)
		entry.Event = e
	case KeyFinished:
		e.Error = text(e.Error)
		entry.Event = e
	case ControllerChanged:
		e.Reason, e.Queues = text(e.Reason), nil
		entry.Event = e
	case InformerChanged:
		e.Reason = text(e.Reason)
		entry.Event = e
	case ElectionChanged:
		entry.Event = e.bounded(text)
	case Gap:
		e.Reason = text(e.Reason)
		entry.Event = e
	case ClientRead:
		e.Message = text(e.Message)
		entry.Event = e
	case Note:
		e.Text = text(e.Text)
		entry.Event = e
	case ObjectChanged, LeaseChanged, SessionStarted, KeyAdded, KeyReady, KeyTaken, KeyForgotten, KeyDropped, Dropped:
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
