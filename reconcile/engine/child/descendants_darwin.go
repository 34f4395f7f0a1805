package child

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// descendants are the processes that a process has started, and those that they have,
// as far as none between them has ended.
func descendants(pid int) []relative {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	children := map[int][]relative{}
	for i := range all {
		p := &all[i]
		children[int(p.Eproc.Ppid)] = append(children[int(p.Eproc.Ppid)], relative{int(p.Proc.P_pid), begunAt(p)})
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// isThere reports whether it has not ended.
func (r relative) isThere() bool {
	const zombie = 5 // SZOMB in sys/proc.h
	p, err := unix.SysctlKinfoProc("kern.proc.pid", r.pid)
	return err == nil && p.Proc.P_stat != zombie && begunAt(p) == r.begun
}

func begunAt(p *unix.KinfoProc) string {
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec)
}
