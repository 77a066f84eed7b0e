package sqlite

import (
	"log/slog"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
	source "github.com/freshet-cache/freshet/proxy/source/sqlite"
)

// BenchmarkIdlePoll is what a relay costs while nothing happens.
func BenchmarkIdlePoll(b *testing.B) {
	path := b.TempDir() + "/test.db"
	if err := source.Script(b.Context(), path, usersSchema); err != nil {
		b.Fatal(err)
	}
	log := New(Options{Path: path}, []row.Spec{{Name: "users", Table: "users"}}, slog.New(slog.DiscardHandler))
	defer log.Close()
	after := proxy.Position{}
	for b.Loop() {
		batch, err := log.Poll(b.Context(), after)
		if err != nil {
			b.Fatal(err)
		}
		after = batch.Through
	}
}

// BenchmarkPoll is what a change costs from the outbox to its record.
func BenchmarkPoll(b *testing.B) {
	path := b.TempDir() + "/test.db"
	if err := source.Script(b.Context(), path, usersSchema); err != nil {
		b.Fatal(err)
	}
	log := New(Options{Path: path}, []row.Spec{{Name: "users", Table: "users"}}, slog.New(slog.DiscardHandler))
	defer log.Close()
	if err := log.Install(b.Context()); err != nil {
		b.Fatal(err)
	}
	err := source.Script(b.Context(), path, `WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 900)
		INSERT INTO users SELECT n, 'mail ' || n, NULL, n FROM i`)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := log.Poll(b.Context(), proxy.Position{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/900, "ns/change")
}
