package node

import (
	"context"
	"runtime"
	"time"

	"github.com/freshet-cache/freshet/hashring"
	"github.com/freshet-cache/freshet/hashring/membership"
)

const (
	// occupancyWindow is over how long a node measures its work: a burst is no
	// load.
	occupancyWindow = 10 * time.Second
	// idle is the occupancy below which a node passes no keys on, however much
	// less the others have to do: three quarters of it are free.
	idle = 0.25
)

// measure keeps this node's occupancy, and with it the share of its keys that
// it passes on, until ctx ends.
func (t *tier) measure(ctx context.Context) error {
	ticker := time.NewTicker(occupancyWindow)
	defer ticker.Stop()
	began, spent := time.Now(), cpuTime()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		now, all := time.Now(), cpuTime()
		t.occupied((all - spent).Seconds() / now.Sub(began).Seconds() / float64(runtime.GOMAXPROCS(0)))
		began, spent = now, all
	}
}

// occupied takes a measurement.
func (t *tier) occupied(occupancy float64) {
	mean := meanOccupancy(t.membership.View(), t.name, occupancy, time.Now())
	t.announce(func(self *membership.Peer) {
		passed := self.Pass
		self.Occupancy, self.Pass = occupancy, 0
		if occupancy >= idle {
			self.Pass = hashring.Pass(passed, occupancy, mean)
		}
	})
}

// meanOccupancy is that of the members that serve, where this node's own is newer
// than what the list has. A member counts for the share of its keys that it has:
// one that fades in has little to do, and would else have the others pass to it
// at once what is to move to it little by little. Who has not measured yet says
// nothing.
func meanOccupancy(view *membership.View, self string, own float64, now time.Time) float64 {
	var sum, members float64
	for _, p := range view.Peers {
		if p.Name == self {
			p.Occupancy = own
		}
		if p.State == hashring.Serving && p.Occupancy > 0 {
			sum += p.Occupancy
			members += view.Rings.Moved(p.Name, now)
		}
	}
	if members == 0 {
		return own
	}
	return sum / members
}
