package settle

import "fmt"

// maxReasons bounds the lines that say what moves. A burst has thousands of
// pending writes, is looked at every few milliseconds, and the first of them
// say enough.
const maxReasons = 20

// reasons are lines that say what moves: the first ones in words, the others
// counted.
type reasons struct {
	lines []string
	more  int
}

// full reports whether another line would only be counted. It spares the
// caller making one.
func (r *reasons) full() bool { return len(r.lines) >= maxReasons }

func (r *reasons) addf(format string, args ...any) {
	if r.full() {
		r.more++
		return
	}
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *reasons) add(lines ...string) {
	n := min(len(lines), maxReasons-len(r.lines))
	r.lines = append(r.lines, lines[:n]...)
	r.more += len(lines) - n
}

func (r *reasons) join(o reasons) {
	r.add(o.lines...)
	r.more += o.more
}

func (r *reasons) total() int { return len(r.lines) + r.more }

// words returns the lines, the last of which says how many are left out. It is
// nil without a reason.
func (r *reasons) words() []string {
	if r.more == 0 {
		return r.lines
	}
	return append(r.lines[:len(r.lines):len(r.lines)], fmt.Sprintf("and %d more", r.more))
}
