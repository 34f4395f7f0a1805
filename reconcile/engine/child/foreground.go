package child

import (
	"context"
	"os/exec"
	"syscall"
)

// RunInForeground runs a command that has the terminal, and returns its exit code as an
// ExitError: 128 and the signal's number where a signal ended it.
//
// Ctrl-C at a terminal reaches the command too, and is the command's business: a
// shell or a debugger goes on. Other ends of ctx ask the command, and what it has
// started, to end and give it two seconds.
func (c *Command) RunInForeground(ctx context.Context) error {
	command := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	command.Env = c.Env
	command.Stdin, command.Stdout, command.Stderr = c.In, c.Out, c.ErrOut
	all := &family{apart: c.Apart}
	if all.apart {
		command.SysProcAttr = inOwnGroup(nil)
	}
	command.Cancel = func() error {
		all.process = command.Process
		all.signal(syscall.SIGTERM)
		return nil
	}
	command.WaitDelay = OutputWithin
	err := command.Run()
	if all.process != nil {
		all.end(false)
	}
	return exitOf(c.Args[0], err)
}
