package settle

import (
	"fmt"
)

// UnsettledError is the result of --until-settled after a timeout.
type UnsettledError struct {
	// Reasons are the first of what is not idle; total counts all, if it is larger.
	Reasons []string
	Total   int
}

func (e *UnsettledError) Error() string {
	return "not settled in time: " + InProgress(max(e.Total, len(e.Reasons)))
}

// InProgress counts what is not idle.
func InProgress(n int) string {
	switch n {
	case 0:
		return "no item in progress, but changes have not stopped"
	case 1:
		return "1 item still in progress"
	}
	return fmt.Sprintf("%d items still in progress", n)
}
