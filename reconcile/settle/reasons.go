package settle

import "fmt"

// maxReasons bounds the lines. A burst has thousands of pending writes and is checked
// every few milliseconds; the first of them are sufficient.
const maxReasons = 20

// reasons lists what is not idle: the first items as lines, the others counted.
type reasons struct {
	lines []string
	more  int
}

// full reports whether another line would only be counted, so that the caller need not
// build it.
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

// words returns the lines, the last of which counts the others. It is nil if there are
// none.
func (r *reasons) words() []string {
	if r.more == 0 {
		return r.lines
	}
	return append(r.lines[:len(r.lines):len(r.lines)], fmt.Sprintf("and %d more", r.more))
}
