package e2e

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cdc/kafka"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

var loadTime = flag.Duration("real.load", 5*time.Second, "how long TestRealLoad loads at each rate")

const loadSettings = `
source: {postgres: {url: "${URL}"}}
use_cases:
  - {name: versions, table: versions, bound: 1h, timeout: 10s}
`

// From a commit to the entry gone, while the database takes that many changes
// a second; beside it what Kafka alone takes for a record, in the same run.
// All that load makes no checkpoint lie.
func TestRealLoad(t *testing.T) {
	stacktest.Need(t)
	const keys = 10000
	p, k := stacktest.Postgres(t, stack.PG15), stacktest.Kafka(t, nil)
	stacktest.Exec(t, p, seed(keys)...)
	s := newRealShop(t, p, k, loadSettings)
	s.relay()
	n := s.node()
	s.await(n)
	for _, rate := range []int{0, 2000, 10000} {
		ctx, end := context.WithCancel(t.Context())
		var load errgroup.Group
		changes := 0
		load.Go(func() (err error) { changes, err = pressure(ctx, p, rate, keys); return err })
		begun := time.Now()
		gone := s.probeLoad(ctx, p, n.Address(), *loadTime)
		took := time.Since(begun)
		alone := echoes(t, k.Address(), fmt.Sprintf("alone-%d", rate), *loadTime/5)
		end()
		if err := load.Wait(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%5d changes/s (%.0f kept): commit → entry gone %s; Kafka alone %s", rate, float64(changes)/(took+*loadTime/5).Seconds(), spread(gone), spread(alone))
	}
	if lies := s.metric(n, "freshet_cdc_lies_total"); lies != 0 {
		t.Errorf("%v checkpoints are said to lie", lies)
	}
}

// pressure changes rows at a rate, ten to a transaction, until ctx ends.
// Row 0 is left alone.
func pressure(ctx context.Context, p *stack.Postgres, rate, keys int) (changes int, err error) {
	if rate == 0 {
		<-ctx.Done()
		return 0, nil
	}
	conn, err := pgx.Connect(ctx, p.URL("", ""))
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const perTransaction, perTick = 10, 10 * time.Millisecond
	tick := time.NewTicker(perTick)
	defer tick.Stop()
	for at := 0; ; {
		select {
		case <-ctx.Done():
			return changes, nil
		case <-tick.C:
		}
		batch := &pgx.Batch{} // autocommit: a transaction for each statement
		for range rate * int(perTick) / int(time.Second) / perTransaction {
			from := 1 + at%(keys-perTransaction-1)
			batch.Queue("BEGIN")
			batch.Queue("UPDATE versions SET v = v + 1 WHERE id >= $1 AND id < $2", from, from+perTransaction)
			batch.Queue("COMMIT")
			at += perTransaction
		}
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			if ctx.Err() != nil {
				return changes, nil
			}
			return changes, err
		}
		changes += batch.Len() / 3 * perTransaction
	}
}

// probeLoad changes row 0 again and again, and measures how long after each
// commit the node still answers what it had in memory.
func (s *shop) probeLoad(ctx context.Context, p *stack.Postgres, address string, d time.Duration) []time.Duration {
	s.t.Helper()
	conn, err := pgx.Connect(ctx, p.URL("", ""))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	c := s.client(address)
	var out []time.Duration
	version := 0
	if err := conn.QueryRow(ctx, "SELECT v FROM versions WHERE id = 0").Scan(&version); err != nil {
		s.t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < d; {
		c.do("HGET", "versions:0", "v") // in memory from here
		version++
		if _, err := conn.Exec(ctx, "UPDATE versions SET v = $1 WHERE id = 0", version); err != nil {
			s.t.Fatal(err)
		}
		committed := time.Now()
		eventually(s.t, "the entry is gone", func() bool { return c.do("HGET", "versions:0", "v") == strconv.Itoa(version) })
		out = append(out, time.Since(committed))
	}
	return out
}

// records is a handler that tells of every record.
type records struct{ came chan struct{} }

func (r records) Lost(string)                       {}
func (r records) Attached(int)                      { r.came <- struct{}{} }
func (r records) Record(int, int64, []byte, []byte) { r.came <- struct{}{} }

// echoes measures how long a record takes from before it is appended to a
// topic of one partition until it is read.
func echoes(t *testing.T, broker, topic string, d time.Duration) []time.Duration {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	o := kafka.Options{Brokers: []string{broker}, Topic: topic}
	p, err := kafka.NewProducer(o, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.EnsureTopic(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r := records{make(chan struct{}, 1)}
	tail, err := kafka.NewTail(o, r, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tail.Run(ctx) }()
	defer func() { end(); <-ended }()
	<-r.came
	var out []time.Duration
	for begun := time.Now(); time.Since(begun) < d; {
		sent := time.Now()
		if err := p.Append(ctx, 0, [][]byte{[]byte("a change")}); err != nil {
			t.Fatal(err)
		}
		<-r.came
		out = append(out, time.Since(sent))
	}
	return out
}

// spread is the middle and the end of a distribution, as text.
func spread(d []time.Duration) string {
	slices.Sort(d)
	return fmt.Sprintf("p50 %v, p99 %v of %d", d[len(d)/2].Round(100*time.Microsecond), d[len(d)*99/100].Round(100*time.Microsecond), len(d))
}
