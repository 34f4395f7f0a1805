//go:build !orders

package diff

// orders are the orders in which each set is tried, beside the one it is written in.
var orders = map[string][]order{
	"everything": {{seed: 1, pads: 50}},
	"refused":    {{seed: 1, pads: 50}},
}
