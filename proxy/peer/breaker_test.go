package peer

import (
	"testing"
	"time"
)

// A breaker's life, told in moments.
func TestBreaker(t *testing.T) {
	var b breaker
	now := time.Unix(1000, 0)
	allowed := func(want, wantProbe bool) {
		t.Helper()
		if probe, ok := b.permit(now); ok != want || probe != wantProbe {
			t.Fatalf("permitted %v, to try %v; want %v, %v", ok, probe, want, wantProbe)
		}
	}
	state := func(want string) {
		t.Helper()
		if got := breakerStates[b.state(now)]; got != want {
			t.Fatalf("it is %s, not %s", got, want)
		}
	}
	fail := func(n int) {
		for range n {
			b.failed(now, false)
		}
	}

	fail(tolerated - 1)
	allowed(true, false)
	b.succeeded() // failures count in a row
	fail(tolerated - 1)
	state("closed")
	fail(1)
	state("open")
	allowed(false, false)

	fail(100) // of calls that began before: they make nothing longer
	now = now.Add(firstPause)
	state("half-open")
	allowed(true, true)
	allowed(false, false) // one tries
	state("half-open")
	b.released(true) // it has left
	allowed(true, true)
	b.failed(now, true)
	state("open")

	now = now.Add(firstPause - 1) // at least half of twice as long
	allowed(false, false)
	now = now.Add(firstPause + 1)
	allowed(true, true)
	b.succeeded()
	state("closed")
	allowed(true, false)
	allowed(true, false)
}

// Pauses grow to a bound, and begin small again after an answer.
func TestBreakerPauses(t *testing.T) {
	var b breaker
	now := time.Unix(1000, 0)
	for range tolerated {
		b.failed(now, false)
	}
	for want := firstPause; ; want = min(2*want, longestStop) {
		stop := b.until.Sub(now)
		if stop < want/2 || stop > want {
			t.Fatalf("a pause of %v, not of up to %v", stop, want)
		}
		if now = b.until; now.Sub(time.Unix(1000, 0)) > 10*longestStop {
			break
		}
		if probe, ok := b.permit(now); !probe || !ok {
			t.Fatal("nobody may try")
		}
		b.failed(now, true)
	}
	b.succeeded()
	for range tolerated {
		b.failed(now, false)
	}
	if stop := b.until.Sub(now); stop > firstPause {
		t.Errorf("a pause of %v after an answer", stop)
	}
}
