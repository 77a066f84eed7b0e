package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cdc/kafka"
)

// What a node says of itself is there to be read by a person, and right.
func TestANodeExplainsItself(t *testing.T) {
	s := newStack(t, everyMapping()...)
	n, c := s.start()
	c.do("GET", "users:1")
	// The slot was computed by Redis 7.0.15.
	if got := c.do("FRESHET.EXPLAIN", "users:42"); !strings.Contains(got, "slot\n9664") || !strings.Contains(got, "a read now\nfill: not in memory") {
		t.Errorf("of a key that is not in memory:\n%s", got)
	}
	eventually(t, "a fill is done and found in memory", func() bool {
		got := c.do("FRESHET.EXPLAIN", "users:1")
		return strings.Contains(got, "a read now\nhit") && strings.Contains(got, "owner\n")
	})
	if owned := s.metric(n, "freshet_ring_slots_owned"); owned != 16384 {
		t.Errorf("a node that is alone owns %v slots", owned)
	}
	lag := c.do("FRESHET.LAG")
	for _, want := range []string{"watermark age\n", "clock width\n", "partition 0\noffset ", "held\nfalse"} {
		if !strings.Contains(lag, want) {
			t.Errorf("FRESHET.LAG says nothing of %q:\n%s", want, lag)
		}
	}
	if strings.Contains(lag, "unknown") || strings.Contains(lag, "problem") {
		t.Errorf("a node that is ready has no problem:\n%s", lag)
	}
}

// A record that nobody understands can be found by what the node says of it.
func TestANodeTellsWhatItCannotDecode(t *testing.T) {
	s := newStack(t, everyMapping()...)
	_, c := s.start()
	k := s.config.Stream.Kafka
	p, err := kafka.NewProducer(kafka.Options{Brokers: k.Brokers, Topic: k.Topic}, s.log())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Append(t.Context(), 1, [][]byte{[]byte("noise")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the record is told", func() bool {
		return strings.Contains(c.do("FRESHET.LAG"), "undecodable\npartition 1, offset ")
	})
}

// Several problems at once reach a client that takes the reply for a map.
func TestANodeTellsEveryProblemUnderOneName(t *testing.T) {
	s := newStack(t, everyMapping()...)
	s.broker().Close() // it left its address, and nothing else
	n := s.node()
	lag := s.client(n.Address()).do("FRESHET.LAG")
	if strings.Count(lag, "problem\n") != 1 || !strings.Contains(lag, "; stream: ") {
		t.Errorf("without an outbox and a broker:\n%s", lag)
	}
}

// Dropping by hand costs a read, and nothing else.
func TestInvalidatingByHand(t *testing.T) {
	s := newStack(t, everyMapping()...)
	n, c := s.start()
	for _, drop := range [][]string{
		{"FRESHET.INVALIDATE", "users:1"}, {"FRESHET.INVALIDATE", "USECASE", "users"},
	} {
		if hit, proof := s.hit(n, c, "users:1"); !hit {
			t.Fatalf("read twice, and no hit:\n%s", proof)
		}
		c.do(drop...)
		if proof := c.do("FRESHET.GET", "users:1", "PROOF"); !strings.HasSuffix(proof, "origin\nfill") {
			t.Errorf("after %v:\n%s", drop, proof)
		}
	}
}

// A bound of zero is as fresh as the database: no read is a hit, and none is
// old.
func TestABoundOfZero(t *testing.T) {
	s := newStack(t, mapped("users", "users", 0))
	_, c := s.start()
	for credit := range 5 {
		c.becomes(0, s.setCredit(1, credit), "HGET", "users:1", "credit")
		if proof := c.do("FRESHET.GET", "users:1", "PROOF"); !strings.HasSuffix(proof, "origin\nfill") {
			t.Errorf("a hit under a bound of zero:\n%s", proof)
		}
	}
}

// Reads with a bound of their own, over entries that the use case would keep
// for an hour and with no stream to keep them fresh.
func TestBoundsOfOneRead(t *testing.T) {
	s := newStack(t, mapped("users", "users", time.Hour))
	t.Cleanup(s.broker().Close)
	stop := s.relay()
	n := s.node()
	s.await(n)
	c := s.client(n.Address())
	c.do("GET", "users:1")
	stop()
	want := s.setCredit(1, 99)
	if got := c.do("FRESHET.GET", "users:1"); !strings.Contains(got, `"credit":37`) {
		t.Fatalf("without a relay, an hour's bound is no hour: %s", got)
	}
	c.becomes(short, `{"id":1,"name":"Grace Brook","email":"grace1@shop.example","city":"Lyon","credit":`+want+`}`,
		"FRESHET.GET", "users:1", "MAXSTALE", "300")
	want = s.setCredit(1, 100)
	if got := c.do("FRESHET.GET", "users:1", "STRONG"); !strings.Contains(got, `"credit":`+want) {
		t.Errorf("STRONG: %s", got)
	}
}
