package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

func BenchmarkRealPostgresLoad(b *testing.B) {
	p := stacktest.Postgres(b, stack.PG15)
	stacktest.Exec(b, p, `CREATE TABLE IF NOT EXISTS bench (k text PRIMARY KEY, v text, n int)`,
		`INSERT INTO bench SELECT 'key ' || i, repeat('x', 80), i FROM generate_series(1, 100000) AS i ON CONFLICT DO NOTHING`, `VACUUM ANALYZE bench`)
	s, catalog, err := postgres.Open(b.Context(), postgres.Options{URL: p.URL("", "")}, []row.Spec{{Name: "bench", Table: "bench"}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, n := range []int{1, 2, 4, 7, 8, 16, 64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			reqs, results := make([]proxy.Request, n), make([]proxy.Result, n)
			for i := range reqs {
				if reqs[i].Key, err = catalog.Key(fmt.Appendf(nil, "bench:key %d", 1+i*37)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Load(context.Background(), reqs, results)
			}
			if !results[n-1].Row.Exists() {
				b.Fatal(results[n-1].Err)
			}
		})
	}
}
