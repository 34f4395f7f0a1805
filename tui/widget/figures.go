package widget

import (
	"strconv"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// DurationOf is a duration for a column; nothing for zero.
func DurationOf(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return state.Short(d)
}

// Sparkline draws the last samples in at most width cells, scaled to their
// largest; a zero is a dot at the foot, so that it can be told from little.
func Sparkline(samples []int, width int) string {
	if len(samples) > width {
		samples = samples[len(samples)-width:]
	}
	top := 0
	for _, v := range samples {
		top = max(top, v)
	}
	if top == 0 {
		return ""
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	out := make([]rune, 0, len(samples))
	for _, v := range samples {
		if v <= 0 {
			out = append(out, '·')
			continue
		}
		out = append(out, bars[min((v*len(bars)-1)/top, len(bars)-1)])
	}
	return string(out)
}

// PerSecond is a rate for a column; nothing for zero.
func PerSecond(r float64) string {
	switch {
	case r <= 0:
		return ""
	case r < 10:
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return strconv.FormatFloat(r, 'f', 0, 64)
}

// Count is a number for a column; nothing for zero, so that the others stand out.
func Count[N int | int64 | uint64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// Age is a duration in one unit, or two below ten minutes, as kubectl prints it.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Minute && d >= 2*time.Minute:
		return state.Short(d.Round(time.Second))
	case d < 2*time.Minute:
		return state.Short(d.Truncate(time.Second))
	case d < 3*time.Hour:
		return state.Short(d.Truncate(time.Minute))
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}
