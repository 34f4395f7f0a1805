package child

import (
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signals hands signals of this process to a command while it runs. The zero value is
// for a command that has not started.
type Signals struct {
	mu     sync.Mutex
	family *family
}

// Pass reports whether there is a command to have the signal. What the terminal
// sends to its foreground, the command has already got.
func (p *Signals) Pass(s os.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.family == nil {
		return false
	}
	if p.family.apart || (s != os.Interrupt && s != syscall.SIGQUIT) || !inForeground() {
		p.family.signal(s)
	}
	return true
}

// start starts the command, to which the signals go from now on. One that comes
// meanwhile waits: it is for the command already.
func (p *Signals) start(command *exec.Cmd, apart bool) (*family, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.family = &family{process: command.Process, apart: apart}
	return p.family, nil
}

// ended says that there is no command any more.
func (p *Signals) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.family = nil
}

// inForeground reports whether the terminal's Ctrl-C reaches this process group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
