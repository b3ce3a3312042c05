package runner

import "time"

// Narrate calls tell now and then, until the returned function is called: a transfer that
// takes long says how far it is.
func Narrate(every time.Duration, tell func()) (stop func()) {
	ticker, quit := time.NewTicker(every), make(chan struct{})
	go func() {
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				tell()
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(quit)
	}
}
