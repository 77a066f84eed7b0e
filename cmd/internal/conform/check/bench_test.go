package check

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
)

var benchReads = flag.Int("check.reads", 200_000, "reads in the history of BenchmarkFiles")

// BenchmarkFiles judges a history whose reads are of 100,000 keys by Zipf's
// law, with a write for every twenty of them:
//
//	go test ./cmd/internal/conform/check -run - -bench Files -benchtime 1x -check.reads 10000000
func BenchmarkFiles(b *testing.B) {
	path := filepath.Join(b.TempDir(), "history.jsonl")
	if err := longHistory(path, *benchReads); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	most := watchHeap(b)
	var began time.Duration
	for b.Loop() {
		start := time.Now()
		v, err := Files(b.Context(), b.TempDir(), path)
		if err != nil {
			b.Fatal(err)
		}
		began += time.Since(start)
		if v.Reads.All != uint64(*benchReads) || v.Result == Violated {
			b.Fatalf("%d reads, %v", v.Reads.All, v.Violations)
		}
	}
	b.ReportMetric(float64(*benchReads)*float64(b.N)/began.Seconds(), "reads/s")
	b.ReportMetric(began.Seconds()/float64(b.N), "wall-s")
	b.ReportMetric(float64(most())/(1<<20), "heap-MiB")
	if kib, ok := peakResident(); ok {
		b.ReportMetric(float64(kib)/(1<<10), "rss-MiB")
	}
}

// peakResident is the most memory that this process ever had, where the system
// tells that; the history is made in a small part of it.
func peakResident() (kib int64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err = strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib, err == nil
		}
	}
	return 0, false
}

// watchHeap looks at the live heap until it is asked for the most it saw.
func watchHeap(b *testing.B) func() uint64 {
	runtime.GC()
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		ticks := time.NewTicker(50 * time.Millisecond)
		defer ticks.Stop()
		var top uint64
		for {
			select {
			case <-done:
				most <- top
				return
			case <-ticks.C:
				metrics.Read(sample)
				top = max(top, sample[0].Value.Uint64())
			}
		}
	}()
	return func() uint64 { close(done); return <-most }
}

// longHistory is of a tier that always answers with the newest version.
func longHistory(path string, reads int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := history.NewWriter(f)
	ended := make(chan error, 1)
	go func() { ended <- w.Run() }()
	const keys = 100_000
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.1, 1, keys-1)
	names, values := make([]string, keys), make([]uint64, keys)
	for i := range names {
		names[i] = "users:" + strconv.Itoa(i)
	}
	l := w.Log()
	now, source := 1000*second, proxy.Time(1.7e18)
	if err := l.Add(&history.Run{Format: history.Format, At: now, Nodes: []string{"n1"}, UseCases: []history.UseCase{{Name: "users", Bound: 2 * time.Second}}}); err != nil {
		return err
	}
	for i := range reads {
		now += 10_000
		if i%100_000 == 0 {
			err = l.Add(&history.Clock{At: now, Lo: proxy.Time(now) + source, Hi: proxy.Time(now) + source + 1000})
		}
		if i%20 == 0 && err == nil {
			k := zipf.Uint64()
			values[k] = uint64(i + 1)
			err = l.Write(&history.Write{Key: names[k], Seq: uint64(i + 1), Value: uint64(i + 1), Op: "update", Begun: now - 9000, Acked: now - 5000})
		}
		if err != nil {
			return err
		}
		k := zipf.Uint64()
		at := proxy.Time(now) + source
		err = l.Read(&history.Read{
			Key: names[k], Node: "n1", Mode: history.Plain, Session: uint64(i%8) + 1, Invoked: now, Answered: now + 3000, Bound: 2 * time.Second,
			Hot: k < 20, Value: values[k], Origin: history.FromHit, AsOf: at - 100_000, Upper: at - 5_000_000_000,
		})
	}
	if err == nil {
		err = l.Add(&history.End{At: now})
	}
	if err == nil {
		err = l.Flush()
	}
	w.Close()
	if err == nil {
		err = <-ended
	}
	if err == nil {
		err = f.Close()
	}
	return err
}
