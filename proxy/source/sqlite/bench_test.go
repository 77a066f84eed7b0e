package sqlite_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/sourcetest"
)

func BenchmarkLoad(b *testing.B) {
	path, client := newFile(b, suiteSchema)
	install(b, path, suiteSpecs()...)
	s, catalog := open(b, path, suiteSpecs()...)
	exec(b, client, `WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 9999)
		INSERT INTO items SELECT n, 'name ' || n, n FROM i`)
	for _, n := range []int{1, 8, 64, 512} {
		for _, u := range []string{sourcetest.Items, sourcetest.ByName} {
			b.Run(fmt.Sprintf("%s/%d", u, n), func(b *testing.B) {
				reqs, results := make([]proxy.Request, n), make([]proxy.Result, n)
				for i := range reqs {
					text := fmt.Sprintf("%s:%d", u, i*19)
					if u == sourcetest.ByName {
						text = fmt.Sprintf("%s:name %d", u, i*19)
					}
					key, err := catalog.Key([]byte(text))
					if err != nil {
						b.Fatal(err)
					}
					reqs[i].Key = key
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				b.ReportAllocs()
				for b.Loop() {
					s.Load(ctx, reqs, results)
				}
				if !results[n-1].Row.Exists() {
					b.Fatal(results[n-1].Err)
				}
			})
		}
	}
}

func BenchmarkApply(b *testing.B) {
	path, _ := newFile(b, suiteSchema)
	install(b, path, suiteSpecs()...)
	s, catalog := open(b, path, suiteSpecs()...)
	h := func(i int) proxy.Write {
		key, err := catalog.Key([]byte(fmt.Sprintf("blobs:%d", i)))
		if err != nil {
			b.Fatal(err)
		}
		return proxy.Write{Key: key, Op: proxy.Put, Fields: field("v", "x")}
	}
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			writes, results := make([]proxy.Write, n), make([]proxy.Written, n)
			for i := range writes {
				writes[i] = h(i)
			}
			for b.Loop() {
				s.Apply(context.Background(), writes, results)
			}
			if results[0].Err != nil {
				b.Fatal(results[0].Err)
			}
		})
	}
}
