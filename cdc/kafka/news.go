package kafka

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// news logs each change of state once, however often it is told of.
type news struct {
	log *slog.Logger

	mu      sync.Mutex
	state   string         // what an attach waits for; "attached"
	failing map[int32]bool // brokers (of a Tail) or partitions (of a Producer) that do not answer
}

const attachedState = "attached"

// waiting says why there is no position yet.
func (n *news) waiting(err error) {
	if errors.Is(err, ErrNoTopic) {
		if n.enter("no topic") {
			n.log.Warn("waiting for the topic: create it, or start the relay or the connector that does", "error", err)
		}
		return
	}
	state := "waiting" + mend(err, nil) // brokers that have started may not know the user
	var code kafkago.Error
	if errors.As(err, &code) {
		state = code.Title()
	}
	if n.enter(state) {
		n.log.Warn("waiting for Kafka", "error", err)
	}
}

func (n *news) attached(partitions int) {
	n.enter(attachedState)
	n.log.Info("attached to the end of the topic", "partitions", partitions)
}

func (n *news) enter(state string) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed = n.state != state
	n.state = state
	return changed
}

// silent says that a broker failed to bring records, answers that it does
// again.
func (n *news) silent(broker int32, err error) {
	if n.turn(broker, true) {
		n.log.Warn("Kafka broker does not serve its partitions", "broker", broker, "error", err)
	}
}

func (n *news) answers(broker int32) {
	if n.turn(broker, false) {
		n.log.Info("Kafka broker serves its partitions again", "broker", broker)
	}
}

// waits says that a partition cannot be written or read, appends that it can
// again.
func (n *news) waits(partition int, err error) {
	if !n.turn(int32(partition), true) {
		return
	}
	if errors.Is(err, ErrNoTopic) {
		n.about(partition).Warn("waiting for the topic")
		return
	}
	n.about(partition).Warn("waiting for Kafka", "error", err)
}

func (n *news) appends(partition int) {
	if n.turn(int32(partition), false) {
		n.about(partition).Info("Kafka answers again")
	}
}

func (n *news) about(partition int) *slog.Logger {
	if partition == noPartition {
		return n.log
	}
	return n.log.With("partition", partition)
}

func (n *news) turn(who int32, failing bool) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failing[who] == failing {
		return false
	}
	if n.failing == nil {
		n.failing = map[int32]bool{}
	}
	n.failing[who] = failing
	return true
}

// backoff spaces attempts: 50 ms, doubling to half a second, so that what
// comes back is found well within a second; the half of it at random, so that
// many nodes do not come back as one.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, 50*time.Millisecond), 500*time.Millisecond)
	return b.last/2 + rand.N(b.last/2)
}
