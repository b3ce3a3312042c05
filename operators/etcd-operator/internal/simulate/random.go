package simulate

// random is a small deterministic source (splitmix64). It is a value: a copied
// world goes on with the same numbers.
type random struct{ state uint64 }

// newRandom is a source for one purpose: the same parts give the same numbers.
func newRandom(parts ...uint64) random {
	r := random{0x9e3779b97f4a7c15}
	for _, p := range parts {
		r.state ^= p
		r.next()
		r.state = r.next()
	}
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// below returns a number from 0 to n-1, and 0 if n is not positive.
func (r *random) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(r.next() % uint64(n))
}

// between returns a number from low to high, both included.
func (r *random) between(low, high int) int { return low + r.below(high-low+1) }

// chance is true in percent of 100 cases.
func (r *random) chance(percent int) bool { return r.below(100) < percent }

// pick returns one of the values.
func pick[T any](r *random, values ...T) T { return values[r.below(len(values))] }

// hash mixes text to an id, as etcd makes ids of members and clusters; never 0.
func hash(parts ...string) uint64 {
	h := uint64(14695981039346656037)
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint64(p[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return h | 1
}
