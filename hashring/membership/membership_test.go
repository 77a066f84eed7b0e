package membership

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cache/freshet/hashring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told is a directory that tells what a test says.
type script chan told

func (s script) Run(ctx context.Context, tell func([]Peer, error)) error {
	for {
		select {
		case t := <-s:
			tell(t.peers, t.err)
		case <-ctx.Done():
			return nil
		}
	}
}

// list makes peers of weight 1 that joined long ago.
func list(names ...string) []Peer {
	peers := make([]Peer, len(names))
	for i, name := range names {
		peers[i] = peerAt(name, 1)
	}
	return peers
}

// follow runs a membership in a bubble, node a's, with rings that fade in over
// 30 s.
func follow(t *testing.T, story func(*Membership, script)) { followBy(t, Options{}, story) }

// followBy does so by times other than the defaults.
func followBy(t *testing.T, o Options, story func(*Membership, script)) {
	o.Rings.Window = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lists := make(script)
		m, err := New(list("a")[0], lists, slog.New(slog.DiscardHandler), o)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		story(m, lists)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (s script) say(names ...string) { s.tell(list(names...), nil) }

func (s script) tell(peers []Peer, err error) {
	s <- told{peers, err}
	synctest.Wait()
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// names are the members that own keys; those that are away are in brackets.
func names(v *View) string {
	var said []string
	for _, p := range v.Peers {
		switch {
		case p.State == hashring.Away:
			said = append(said, "("+p.Name+")")
		case v.Rings.Owned(p.Name) > 0:
			said = append(said, p.Name)
		}
	}
	return strings.Join(said, " ")
}

func expect(t *testing.T, m *Membership, members, problem string) {
	t.Helper()
	v := m.View()
	if got := names(v); got != members {
		t.Errorf("members %q, want %q", got, members)
	}
	if (problem == "") != (v.Problem == nil) || v.Problem != nil && !strings.Contains(v.Problem.Error(), problem) {
		t.Errorf("problem %v, want %q", v.Problem, problem)
	}
}

func TestFirstListIsTakenAtOnce(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		expect(t, m, "a", "no list of members yet")
		lists.say("c", "a", "b")
		expect(t, m, "a b c", "")
		if due := m.View().Rings.Settled(); !due.IsZero() {
			t.Errorf("members that were there fade in until %s", due)
		}
	})
}

func TestChangesAreGathered(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b")
		version := m.View().Rings.Version()
		lists.say("a", "b", "c")
		pass(time.Second)
		lists.say("a", "b", "c", "d")
		pass(999 * time.Millisecond)
		expect(t, m, "a b", "")
		pass(time.Millisecond) // two seconds after the first, not after the last
		expect(t, m, "a b c d", "")
		if got := m.View().Rings.Version(); got != version+1 {
			t.Errorf("version %d after %d", got, version)
		}
		if m.View().Rings.Settled().IsZero() {
			t.Error("new members do not fade in")
		}
		pass(30 * time.Second)
		if due := m.View().Rings.Settled(); !due.IsZero() {
			t.Errorf("not settled until %s", due)
		}
	})
}

func TestSameListChangesNothing(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b")
		rings := m.View().Rings
		for range 5 {
			lists.say("b", "a")
			pass(5 * time.Second)
		}
		if m.View().Rings != rings {
			t.Error("the same list made other rings")
		}
	})
}

func TestRestartIsNotAnEnd(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b", "c")
		sum := m.View().Rings.Checksum()
		lists.say("a", "c")
		pass(2 * time.Second)
		expect(t, m, "a (b) c", "")
		if m.View().Rings.Checksum() != sum {
			t.Error("keys moved when a member went away")
		}
		// It comes back as one that joins now: it was never gone.
		back := list("a", "b", "c")
		back[1].Joined = time.Now()
		lists.tell(back, nil)
		pass(2 * time.Second)
		expect(t, m, "a b c", "")
		if v := m.View(); v.Rings.Checksum() != sum {
			t.Error("keys moved when it came back")
		}
		lists.say("a", "c")
		pass(2*time.Second + 10*time.Second - 1)
		expect(t, m, "a (b) c", "")
		pass(1)
		expect(t, m, "a c", "")
		lists.say("a", "b", "c")
		pass(2 * time.Second)
		expect(t, m, "a b c", "")
		if m.View().Rings.Settled().IsZero() {
			t.Error("a member that was gone does not fade in")
		}
	})
}

// A member that came back within its grace keeps when it joined, whatever it
// announces.
func TestRestartDoesNotFadeIn(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		peers := list("a", "b")
		for i := range peers {
			peers[i].Joined = time.Now().Add(-time.Hour)
		}
		lists.tell(peers, nil)
		lists.tell(peers[:1], nil)
		pass(5 * time.Second)
		again := slices.Clone(peers)
		again[1].Joined = time.Now()
		lists.tell(again, nil)
		pass(2 * time.Second)
		expect(t, m, "a b", "")
		if due := m.View().Rings.Settled(); !due.IsZero() {
			t.Errorf("it fades in until %s", due)
		}
	})
}

// Who sets the times has them.
func TestTimesAreThoseOfTheOptions(t *testing.T) {
	followBy(t, Options{Debounce: time.Second, Grace: 3 * time.Second}, func(m *Membership, lists script) {
		lists.say("a", "b")
		lists.say("a")
		pass(time.Second - 1)
		expect(t, m, "a b", "")
		pass(1)
		expect(t, m, "a (b)", "")
		pass(3*time.Second - 1)
		expect(t, m, "a (b)", "")
		pass(1)
		expect(t, m, "a", "")
	})
}

// A member that starts again where it was, and says so, has grace as well.
func TestStartingAgainIsARestart(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b")
		sum := m.View().Rings.Checksum()
		peers := list("a", "b", "c")
		peers[1].State, peers[2].State = hashring.Starting, hashring.Starting
		lists.tell(peers, nil)
		pass(2 * time.Second)
		expect(t, m, "a (b)", "")
		if m.View().Rings.Checksum() != sum {
			t.Error("keys moved when a member started again, or to one that starts")
		}
		pass(10 * time.Second)
		expect(t, m, "a", "")
		if p, there := m.View().Peer("b"); !there || p.State != hashring.Starting {
			t.Errorf("after its grace it is %+v", p)
		}
		lists.say("a", "b", "c")
		pass(2 * time.Second)
		expect(t, m, "a b c", "")
	})
}

func TestLeavingMemberIsGoneAtOnce(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b")
		peers := list("a", "b")
		peers[1].State = hashring.Leaving
		lists.tell(peers, nil)
		pass(2 * time.Second)
		expect(t, m, "a", "")
		lists.say("a")
		pass(2 * time.Second)
		if _, there := m.View().Peer("b"); there {
			t.Error("a member that left is waited for")
		}
	})
}

func TestLastGoodListStands(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b")
		for problem, bad := range map[string]told{
			"server is down":     {nil, errors.New("server is down")},
			"is empty":           {nil, nil},
			`"b" is there twice`: {list("a", "b", "b"), nil},
			"without control":    {list("a", "b\n"), nil},
			"weight":             {[]Peer{peerAt("a", 0)}, nil},
		} {
			lists.tell(bad.peers, bad.err)
			pass(3 * time.Second)
			expect(t, m, "a b", problem)
			pass(time.Hour)
			expect(t, m, "a b", problem)
			lists.say("a", "b")
			pass(2 * time.Second)
			expect(t, m, "a b", "")
		}
	})
}

func TestTroubleBesideAList(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a")
		lists.tell(list("a", "b"), errors.New("two nodes are named c"))
		pass(2 * time.Second)
		expect(t, m, "a b", "two nodes are named c")
		lists.tell(list("a"), errors.New("two nodes are named c"))
		pass(2*time.Second + 10*time.Second)
		expect(t, m, "a", "two nodes are named c")
		lists.say("a")
		pass(2 * time.Second)
		expect(t, m, "a", "")
	})
}

func TestLoadIsInTheView(t *testing.T) {
	follow(t, func(m *Membership, lists script) {
		lists.say("a", "b")
		rings := m.View().Rings
		peers := list("a", "b")
		peers[1].Occupancy, peers[1].Pass = 3.5, 0.25
		lists.tell(peers, nil)
		pass(2 * time.Second)
		v := m.View()
		if p, _ := v.Peer("b"); p.Occupancy != 3.5 || v.Passing["b"] != 0.25 || len(v.Passing) != 1 {
			t.Errorf("%+v, %v", p, v.Passing)
		}
		if v.Rings != rings {
			t.Error("load made other rings")
		}
	})
}

func TestDirectoryThatEndsEndsTheRun(t *testing.T) {
	broken := errors.New("cannot be")
	m, err := New(list("a")[0], failing{broken}, slog.New(slog.DiscardHandler), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Run: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Run(context.Context, func([]Peer, error)) error { return f.err }

func TestNewRefusesWhoCannotBeAMember(t *testing.T) {
	for _, self := range []Peer{{}, peerAt("a\x00", 1), peerAt("a", 0), peerAt("a", 101)} {
		if m, err := New(self, Static{}, slog.New(slog.DiscardHandler), Options{}); err == nil || m != nil {
			t.Errorf("%+v: %v, %v", self, m, err)
		}
	}
}
