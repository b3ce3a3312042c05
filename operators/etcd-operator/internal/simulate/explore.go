package simulate

// Explored is what an exploration covered.
type Explored struct {
	// States are those that differ, Ends those of them from which the way to rest was
	// followed after the last fault.
	States, Ends int
	// Capped is true if there are more.
	Capped bool
}

// Explore visits breadth first what can become of a configuration when up to faults
// faults of the menu happen at any of the first depth steps: each moment, each fault,
// each combination, once for every state that differs. Delays are as short as they
// can be. It ends at most states: an uncapped search eats the machine.
func Explore(cfg Config, planner Planner, menu []Fault, faults, depth, most int) (Explored, *Failure) {
	type visit struct {
		world *world
		past  []Fault
	}
	cfg.Calm = true
	first := newWorld(cfg, 1, planner, nil)
	if cfg.Formed {
		first.form()
	}
	var (
		found   Explored
		visited = map[uint64]bool{}
		queue   = []visit{{first, nil}}
	)
	failure := func(v visit) *Failure {
		cfg.Steps = v.world.step
		if len(v.past) > 0 {
			cfg.Steps = max(cfg.Steps, v.past[len(v.past)-1].Step+1)
		}
		var trace story
		if _, f := play(cfg, 1, planner, v.past, &trace); f != nil {
			f.Faults, f.Trace = v.past, trace.lines
			return f
		}
		b := v.world.broken
		return &Failure{Seed: 1, Config: cfg, Invariant: b.invariant, Message: b.message, Kind: b.kind, Faults: v.past}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue[0] = visit{}
		queue = queue[1:]

		choices := []*Fault{nil}
		if len(v.past) < faults {
			for i := range menu {
				choices = append(choices, &menu[i])
			}
		}
		for _, f := range choices {
			next := visit{v.world.clone(), v.past}
			if f != nil {
				fault := *f
				fault.Step = next.world.step
				next.past = append(v.past[:len(v.past):len(v.past)], fault)
				next.world.faults, next.world.next = []Fault{fault}, 0
			}
			next.world.advance()
			if next.world.broken != nil {
				return found, failure(next)
			}
			if f != nil && len(next.world.armed) > 0 {
				continue // no target: nothing happened
			}
			k := next.world.key() + uint64(len(next.past))
			if visited[k] {
				continue
			}
			visited[k] = true
			if found.States++; found.States >= most {
				found.Capped = true
				return found, nil
			}
			if len(next.past) == faults {
				end := visit{next.world.clone(), next.past}
				end.world.settle()
				found.Ends++
				if end.world.broken != nil {
					return found, failure(end)
				}
				continue
			}
			if next.world.step < depth {
				queue = append(queue, next)
			}
		}
	}
	return found, nil
}
