package child

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// family is a command that was started, and what it has started in its turn. A signal
// that ends programs goes to all of them: a shell that is ended by one leaves its
// children behind, and so does 'go run'.
//
// Without a terminal the command has a process group of its own (apart), which has them
// all but those that leave it. With one it stays in the group of this process, for the
// terminal's Ctrl-C and Ctrl-Z are for both; what it has started is then looked up by
// parents. Neither finds what has put itself into the background as a daemon.
type family struct {
	process *os.Process
	apart   bool

	mu sync.Mutex
	// asked: it has had a signal that ends programs.
	asked bool
	rest  []relative
}

// relative is a process by its id and the time at which it began, which no two share.
type relative struct {
	pid   int
	begun string
}

// endsPrograms reports whether a signal is one by which users end programs.
func endsPrograms(s os.Signal) bool {
	return slices.Contains([]os.Signal{os.Interrupt, os.Kill, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}, s)
}

// signal sends a signal to the command, and to what it has started if it is one that
// ends programs. All of them may have ended.
func (f *family) signal(s os.Signal) {
	if !endsPrograms(s) {
		_ = f.process.Signal(s)
		return
	}
	f.mu.Lock()
	f.asked = true
	if !f.apart {
		f.rest = append(f.rest, descendants(f.process.Pid)...)
	}
	rest := slices.Clone(f.rest)
	f.mu.Unlock()
	if f.apart {
		signalGroup(f.process.Pid, s)
		return
	}
	_ = f.process.Signal(s)
	for _, r := range rest {
		r.signal(s)
	}
}

func (r relative) signal(s os.Signal) {
	if !r.isThere() {
		return
	}
	if p, err := os.FindProcess(r.pid); err == nil {
		_ = p.Signal(s)
	}
}

// end returns when nothing of the family is left, whose command has ended: the others
// are asked to end, and killed when that is late. Where nobody has asked the command to
// end, it does nothing unless all is set.
func (f *family) end(all bool) {
	f.mu.Lock()
	asked, rest := f.asked, f.rest
	f.mu.Unlock()
	if !asked && !all {
		return
	}
	if f.apart {
		signalGroup(f.process.Pid, syscall.SIGTERM)
	}
	late := time.After(OutputWithin)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		rest = slices.DeleteFunc(slices.Clone(rest), func(r relative) bool { return !r.isThere() })
		if len(rest) == 0 && !(f.apart && groupIsThere(f.process.Pid)) {
			return
		}
		select {
		case <-look.C:
		case <-late:
			if f.apart {
				signalGroup(f.process.Pid, os.Kill)
			}
			for _, r := range rest {
				r.signal(os.Kill)
			}
			return
		}
	}
}

// HasTerminal reports whether a terminal controls this process.
func HasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	_ = tty.Close()
	return true
}
