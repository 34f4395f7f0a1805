//go:build !orders

package diff

// orders are the orders in which each set is tried.
var orders = map[string][]order{
	"everything": {{seed: 1, pads: 50}},
	"refused":    {{seed: 1, pads: 50}},
}
