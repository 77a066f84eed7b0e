package clock

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-cache/freshet/proxy"
)

// boundsHoldAfterSleep lets a machine sleep whose kernel's clocks are by hand.
func boundsHoldAfterSleep() error {
	var awake, slept time.Duration
	kernel := func(id int32) time.Duration {
		if id == unix.CLOCK_BOOTTIME {
			return awake + slept
		}
		return awake
	}
	c := New(func() time.Duration { return boottime(kernel) })
	truth := func() proxy.Time { return proxy.Time(1e18).Add(awake + slept) }
	c.Observe(c.Local(), c.Local(), truth())
	awake += time.Second
	slept += time.Hour
	if lo, hi := c.Bounds(); truth() < lo || truth() > hi {
		return fmt.Errorf("the source's clock is %s off the bounds", truth().Sub(hi))
	}
	return nil
}

func TestBoottimeCountsSleep(t *testing.T) {
	if err := boundsHoldAfterSleep(); err != nil {
		t.Error(err)
	}
}

func TestBoottimeRuns(t *testing.T) {
	a := Boottime()
	for range 1000 {
		b := Boottime()
		if b < a {
			t.Fatalf("%s, then %s", a, b)
		}
		a = b
	}
}
