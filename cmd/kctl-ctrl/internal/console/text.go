package console

import (
	"context"
	"time"
)

// ClearScreen takes the cursor to the top and clears what is below.
const ClearScreen = "\x1b[H\x1b[2J\x1b[3J"

// Sleep waits, or ends with ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
