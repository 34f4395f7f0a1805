package main

import (
	"fmt"
)

// unsettledError is what --until-settled ends with when time runs out.
type unsettledError struct {
	// reasons are the first of what is not idle; total counts all, where it is more.
	reasons []string
	total   int
}

func (e *unsettledError) Error() string {
	return "not settled in time: " + inProgress(max(e.total, len(e.reasons)))
}

// inProgress counts what is not idle.
func inProgress(n int) string {
	switch n {
	case 0:
		return "no item in progress, but changes have not stopped"
	case 1:
		return "1 item still in progress"
	}
	return fmt.Sprintf("%d items still in progress", n)
}
