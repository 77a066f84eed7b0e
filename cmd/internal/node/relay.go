package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cdc/relay"
	outbox "github.com/freshet-cache/freshet/cdc/relay/sqlite"
	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// Relay ships the source's changes to the stream.
type Relay struct {
	config   *config.Config
	log      *slog.Logger
	changes  changeLog
	producer *kafka.Producer
	relay    *relay.Relay
	registry registry
	admin    net.Listener // nil: none
}

// OpenRelay checks the source and takes the admin port; with none configured,
// there is none. Whoever does not call Run then calls Close.
func OpenRelay(ctx context.Context, c *config.Config, log *slog.Logger) (*Relay, error) {
	return Seams{}.OpenRelay(ctx, c, log)
}

// OpenRelay is [OpenRelay] through the seams.
func (s Seams) OpenRelay(ctx context.Context, c *config.Config, log *slog.Logger) (*Relay, error) {
	r, err := buildRelay(ctx, c, s, log)
	if err != nil || c.Relay.Admin == "" {
		return r, err
	}
	if r.admin, err = listen(c.Relay.Admin, "relay.admin"); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// CheckRelay checks the source and builds the relay, but takes no port, writes
// nothing and talks to no broker.
func CheckRelay(ctx context.Context, c *config.Config) error {
	r, err := buildRelay(ctx, c, Seams{}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	r.Close()
	if err := checkLog(ctx, c); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return nil
}

func buildRelay(ctx context.Context, c *config.Config, seams Seams, log *slog.Logger) (*Relay, error) {
	if c.Stream.Format != "freshet" {
		return nil, errors.New("stream.format says that a connector ships the changes: a relay beside it would ship to nobody")
	}
	seams = seams.withDefaults()
	changes, err := openLog(ctx, c, log)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	producer, err := kafka.NewProducer(kafkaOptions(c), log)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	r := &Relay{config: c, log: log, changes: changes, producer: producer, registry: newRegistry()}
	r.relay = relay.New(changes, seams.Topic(&topic{Producer: producer, partitions: c.Relay.Partitions}), log, relay.Options{
		Slot:               c.Relay.Slot,
		CheckpointInterval: time.Duration(c.Relay.CheckpointInterval),
		PollInterval:       time.Duration(c.Relay.PollInterval),
	})
	r.registry.MustRegister(r.relay)
	r.registry.registerIf(changes)
	return r, nil
}

// Admin is where the relay's own /metrics and the like are served, or "".
func (r *Relay) Admin() string {
	if r.admin == nil {
		return ""
	}
	return r.admin.Addr().String()
}

// Run ships until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	parts := []part{{"relay", r.ship}}
	if r.admin != nil {
		parts = append(parts, part{"admin", func(ctx context.Context) error {
			return serveHTTP(ctx, r.admin, adminHandler(r.registry.handler(), r.ready))
		}})
	}
	return errors.Join(live(ctx, func() {}, parts), r.changes.Close())
}

// install puts into the source now what its log would put there at its first
// look.
func (r *Relay) install(ctx context.Context) error {
	if log, ok := r.changes.(*outbox.Log); ok {
		return log.Install(ctx)
	}
	return nil
}

// ready reports whether changes are shipped, and what they wait for. A relay
// that stands by for another one is not ready: no change would be missed if it
// were gone.
func (r *Relay) ready() (bool, []string) {
	if log, ok := r.changes.(interface{ Waiting() string }); ok && log.Waiting() != "" {
		return false, []string{log.Waiting()}
	}
	if problem := r.relay.Problem(); problem != "" {
		return false, []string{problem}
	}
	return true, nil
}

// ship waits for the source and for Kafka as long as it takes. The source comes
// first: with an outbox in it changes are kept, and nodes know their primary,
// however long Kafka stays away.
func (r *Relay) ship(ctx context.Context) error {
	defer r.producer.Close()
	r.log.Info("relay starts", "topic", r.config.Stream.Kafka.Topic, "slot", r.config.Relay.Slot)
	return r.relay.Run(ctx)
}

// topic is the relay's topic, which it makes if it is not there.
type topic struct {
	*kafka.Producer
	partitions int // of a topic that is made
	fits       int // the number of partitions with which it was found to fit
}

// Partitions returns how many partitions the topic has, once it is there and
// fits.
func (t *topic) Partitions(ctx context.Context) (int, error) {
	n, err := t.Producer.Partitions(ctx)
	if errors.Is(err, kafka.ErrNoTopic) {
		n, err = t.partitions, nil
		t.fits = 0
	}
	if err == nil && n != t.fits {
		if err = t.EnsureTopic(ctx, n); err == nil {
			t.fits = n
		}
	}
	return n, err
}

// Close gives back what OpenRelay took. It is not for a relay that has run.
func (r *Relay) Close() {
	if r.admin != nil {
		r.admin.Close()
	}
	r.producer.Close()
	if err := r.changes.Close(); err != nil {
		r.log.Warn("close the log of changes", "error", err)
	}
}
