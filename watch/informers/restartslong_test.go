//go:build restarts

package informers

func init() { restarted = 50 }
