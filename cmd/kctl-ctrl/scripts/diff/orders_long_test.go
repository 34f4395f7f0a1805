//go:build orders

package diff

// orders are the orders in which each set is tried; the first is the one that it is
// written in.
var orders = func() map[string][]order {
	all := map[string][]order{}
	for _, set := range []string{"everything", "refused"} {
		all[set] = []order{{}}
		for seed := range uint64(10) {
			for _, pads := range []int{0, 50, 500} {
				all[set] = append(all[set], order{seed: seed + 1, pads: pads})
			}
		}
	}
	return all
}()
