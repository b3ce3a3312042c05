package simulate

import "iter"

// coroutine runs one reconcile after the other, each of which stops before its calls. It is the same
// one as long as the operator does not crash, so that its stack does not grow anew each time.
type coroutine struct {
	reconcile func()
	// yield stops the reconcile before a call; false tells it to end where it stands.
	yield func(call string) bool
	pull  func() (call string, more bool)
	stop  func()
}

// reconciled is what it says in place of a call when a reconcile is over.
const reconciled = "the reconcile is over"

// resume starts a reconcile, or lets the one under way go on: up to its next call, or to its end.
func (c *coroutine) resume() (call string, more bool) {
	if c.pull == nil {
		c.pull, c.stop = iter.Pull(func(yield func(string) bool) {
			defer func() {
				if r := recover(); r != nil && r != errEnded { //nolint:errorlint // as it was thrown
					panic(r)
				}
			}()
			c.yield = yield
			for c.reconcile(); yield(reconciled); c.reconcile() {
			}
		})
	}
	call, _ = c.pull()
	return call, call != reconciled
}

// end ends what runs, where it stands.
func (c *coroutine) end() {
	if c.pull != nil {
		c.stop()
		c.pull = nil
	}
}
