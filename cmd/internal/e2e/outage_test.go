package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/node"
)

// short is a bound that a test can wait for.
const short = 300 * time.Millisecond

func shortAndLong() []config.UseCase {
	return []config.UseCase{mapped("short", "users", short), mapped("long", "users", time.Hour)}
}

func (s *shop) setCredit(id, credit int) string {
	s.t.Helper()
	s.sql("UPDATE users SET credit = " + strconv.Itoa(credit) + " WHERE id = " + strconv.Itoa(id))
	return strconv.Itoa(credit)
}

// A node whose broker is not there says so, serves within the bound, and takes
// up the stream by itself.
func TestKafkaIsAwayAtStart(t *testing.T) {
	s := newStack(t, shortAndLong()...)
	s.broker().Close() // the port is known, and nobody listens
	s.relay()
	n := s.node()
	c := s.client(n.Address())
	eventually(t, "the outbox is installed and the source is found", func() bool {
		_, why := s.ready(n)
		return !strings.Contains(why, "source:")
	})
	if ok, why := s.ready(n); ok || !strings.Contains(why, "stream:") {
		t.Errorf("ready without a broker: %v, %q", ok, why)
	}
	c.becomes(short, "37", "HGET", "short:1", "credit")
	c.becomes(short, s.setCredit(1, 5), "HGET", "short:1", "credit")
	if hit, _ := s.hit(n, c, "short:1"); !hit {
		t.Error("without a broker, nothing is cached within the bound")
	}

	broker := s.broker()
	t.Cleanup(broker.Close)
	s.await(n)
	c.do("HGET", "long:1", "credit")
	c.becomes(lag, s.setCredit(1, 6), "HGET", "long:1", "credit")
}

// hit reports whether a read of key was answered from memory.
func (s *shop) hit(n *node.Node, c *client, key string) (bool, string) {
	s.t.Helper()
	c.do("GET", key)
	proof := c.do("FRESHET.GET", key, "PROOF")
	return strings.HasSuffix(proof, "origin\nhit"), proof
}

// A broker that goes away costs no answer, no bound, and no change once it is
// back.
func TestKafkaGoesAwayAndComesBack(t *testing.T) {
	s := newStack(t, shortAndLong()...)
	broker := s.broker()
	s.relay()
	n := s.node()
	s.await(n)
	c := s.client(n.Address())
	c.do("HGET", "long:2", "credit")

	broker.Close()
	c.do("HGET", "short:1", "credit")
	c.becomes(short, s.setCredit(1, 7), "HGET", "short:1", "credit")
	missed := s.setCredit(2, 8)
	if ok, why := s.ready(n); !ok {
		t.Errorf("a node that was ready is taken out of service with its broker: %s", why)
	}
	// An entry that nobody keeps fresh is read again after its bound.
	time.Sleep(short)
	if got := c.do("FRESHET.GET", "short:1", "PROOF"); !strings.HasSuffix(got, "origin\nfill") {
		t.Errorf("older than its bound, and answered as\n%s", got)
	}

	broker = s.broker()
	t.Cleanup(broker.Close)
	c.becomes(lag, missed, "HGET", "long:2", "credit")
	eventually(t, "the stream is followed again", func() bool {
		_, why := s.ready(n)
		return why == "ready\n"
	})
	c.do("HGET", "long:2", "credit")
	c.becomes(lag, s.setCredit(2, 9), "HGET", "long:2", "credit")
}

// A relay that is started again ships what happened meanwhile, and empties no
// cache.
func TestRelayIsStartedAgain(t *testing.T) {
	s := newStack(t, shortAndLong()...)
	t.Cleanup(s.broker().Close)
	stop := s.relay()
	n := s.node()
	s.await(n)
	c := s.client(n.Address())
	c.do("HGET", "long:1", "credit")
	c.do("HGET", "long:2", "credit")
	c.becomes(lag, s.setCredit(1, 1), "HGET", "long:1", "credit")
	gaps := s.metric(n, "freshet_cdc_gaps_total")

	stop()
	s.setCredit(1, 2)
	c.do("HGET", "short:1", "credit")
	missed := s.setCredit(1, 3)
	c.becomes(short, missed, "HGET", "short:1", "credit")
	s.relay()
	c.becomes(lag, missed, "HGET", "long:1", "credit")
	if hit, proof := s.hit(n, c, "long:2"); !hit {
		t.Errorf("a restart of the relay made an entry void that nothing changed:\n%s", proof)
	}
	if after := s.metric(n, "freshet_cdc_gaps_total"); after != gaps {
		t.Errorf("a restart of the relay made %v gaps", after-gaps)
	}
}

// A node that is started anew knows nothing and serves the truth.
func TestNodeStartsAfterTheOthers(t *testing.T) {
	s := newStack(t, shortAndLong()...)
	old, first := s.start()
	first.do("HGET", "long:1", "credit")
	want := s.setCredit(1, 11)
	gaps := s.metric(old, "freshet_cdc_gaps_total")
	n := s.node()
	s.await(n)
	if after := s.metric(old, "freshet_cdc_gaps_total"); after != gaps {
		t.Errorf("another node's start made %v gaps", after-gaps)
	}
	second := s.client(n.Address())
	second.becomes(0, want, "HGET", "long:1", "credit")
	want = s.setCredit(1, 12)
	first.becomes(lag, want, "HGET", "long:1", "credit")
	second.becomes(lag, want, "HGET", "long:1", "credit")
}
