//go:build faults

package diagnosis

func init() { hideAll = true }
