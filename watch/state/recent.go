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
	case WriteHeld:
		e.Question = f.question(e.Question, entry.At, text, changes)
		entry.Event = e
	case WriteDecided:
		e.Text, e.By, e.Reason = text(e.Text), text(e.By), text(e.Reason)
		entry.Event = e
	case BreakpointHit:
		e.Write = text(e.Write)
		entry.Event = e
	case BreakpointReleased:
		e.Write = text(e.Write)
		entry.Event = e
	case ApprovalGiven:
		e.Covers = text(e.Covers)
		entry.Event = e
	case ApprovalsWithdrawn:
		e.Covered = text(e.Covered)
		entry.Event = e
	case BreakerChanged:
		e.Reason, e.By = text(e.Reason), text(e.By)
		e.Means = f.sentences(e.Means, text)
		entry.Event = e
	case ActiveChanged:
		e.Ended, e.Reason, e.Again = text(e.Ended), text(e.Reason), text(e.Again)
		entry.Event = e
	case ControllerRequested, PauseChanged, BreakpointChanged, KeyStepped, KeyRetried, ControlsRestated:
	case ObjectChanged, LeaseChanged, SessionStarted, KeyAdded, KeyReady, KeyTaken, KeyForgotten, KeyDropped, QueueStalled, Dropped:
	default:
		return
	}
	f.s.Recent.push(entry, f.s.Limits.Recent)
}

// Renewal reports whether this is the event of a lease that was written again: each
// holder does so every few seconds, for ever, and the garbage collector has a key of
// it each time.
func (c Cause) Renewal() bool {
	return c.Kind == CauseEvent && c.Change == ChangeUpdated && c.Object != nil && c.Object.lease()
}

// Renewal reports whether an entry of the journal is nothing but the renewal of a
// lease, or what a queue made of one: a key that was added for it, taken and done.
// Whether a sync's end belongs to one is seen by its key in s. What failed is not.
func (s *Snapshot) Renewal(e Event) bool {
	of := func(controller, queue, key string) bool {
		k := s.Key(controller, queue, key)
		return k != nil && k.Cause.Renewal()
	}
	switch e := e.(type) {
	case ObjectChanged:
		return e.Change == ChangeUpdated && e.Object.lease()
	case KeyAdded:
		return e.Cause.Renewal()
	case KeyTaken:
		return e.Cause.Renewal()
	case KeyFinished:
		return !e.Failed && e.Writes == 0 && of(e.Controller, e.Queue, e.Key)
	}
	return false
}

func (r Ref) lease() bool { return r.Resource == "leases" && r.Group == "coordination.k8s.io" }

// Heartbeat recognises a kubelet's renewal of its node's lease: one per node
// every ten seconds, for ever.
func (e WriteFinished) Heartbeat() bool {
	return e.Verb == "update" && (e.Result == WriteDone || e.Result == WriteDry) &&
		e.Object.Resource == "leases" && e.Object.Namespace == "kube-node-lease"
}

// maxSentences bounds what a BreakerChanged says of its meaning.
const maxSentences = 10

func (f *folder) sentences(all []string, text func(string) string) []string {
	if len(all) == 0 {
		return nil
	}
	out := make([]string, min(len(all), maxSentences))
	for i := range out {
		out[i] = text(all[i])
	}
	return out
}
