//go:build simulation

package act

// Refusals counts how often each precondition has failed, and Omitted is one that is left
// out. Neither exists in the product.
var (
	Refusals = map[Precondition]int{}
	Omitted  Precondition
)

func refuses(p Precondition, failed bool) bool {
	if failed {
		Refusals[p]++
	}
	return failed && p != Omitted
}

func demands(p Precondition) bool { return p != Omitted }
