package child

import (
	"os"
	"strconv"
	"strings"
)

// descendants are the processes that a process has started, and those that they have,
// as far as none between them has ended.
func descendants(pid int) []relative {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]relative{}
	for _, entry := range names {
		if id, err := strconv.Atoi(entry.Name()); err == nil {
			if parent, begun, ok := processStat(id); ok {
				children[parent] = append(children[parent], relative{id, begun})
			}
		}
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// isThere reports whether it has not ended.
func (r relative) isThere() bool {
	_, begun, ok := processStat(r.pid)
	return ok && begun == r.begun
}

// processStat reads the parent of a process and when it began; false where it has
// ended. The name before may have any character in it, a parenthesis too
// (proc_pid_stat(5): fields 3, 4 and 22 follow the last one).
func processStat(pid int) (parent int, begun string, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, "", false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[19], err == nil
}
