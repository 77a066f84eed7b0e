package hashring

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// The simulations run the product's code in virtual time and print the tables
// of doc.go. They take minutes, and check nothing:
//
//	go test ./hashring -run '^$' -bench Simulation -benchtime 1x -v

// spread says how far numbers lie from their mean.
func spread(counts []float64) (most, least, deviation float64) {
	mean := 0.0
	for _, c := range counts {
		mean += c / float64(len(counts))
	}
	for _, c := range counts {
		deviation += (c/mean - 1) * (c/mean - 1) / float64(len(counts))
	}
	return slices.Max(counts) / mean, slices.Min(counts) / mean, math.Sqrt(deviation)
}

func BenchmarkSimulationOfTables(b *testing.B) {
	for b.Loop() {
		simulateTables(b)
	}
}

func simulateTables(t testing.TB) {
	keys := someKeys(200_000)
	t.Log("placement | nodes | max/mean, min/mean, deviation of keys | moved by a join (ideal) | between old nodes | build | memory")
	for _, p := range placements {
		for _, n := range []int{10, 100, 1000} {
			members := nodes(1, n+1)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			r, took := build(t, p, members[:n])
			runtime.GC()
			runtime.ReadMemStats(&after)
			joined := rings(t, Options{Placement: p}, members...)
			counts, of := make([]float64, n), map[string]int{}
			for i, m := range members[:n] {
				of[m.Name] = i
			}
			moved, needless := 0.0, 0.0
			for _, key := range keys {
				owner, then := r.Owner(key, noon), joined.Owner(key, noon)
				counts[of[owner]]++
				if owner != then {
					moved++
					if then != members[n].Name {
						needless++
					}
				}
			}
			most, least, deviation := spread(counts)
			part := 100 / float64(len(keys))
			t.Logf("%-10s | %4d | %.2f, %.2f, %4.1f %% | %.2f %% (%.2f) | %.2f %% | %v | %d KB", p, n,
				most, least, deviation*100, moved*part, 100/float64(n+1), needless*part,
				took.Round(time.Millisecond/10), (after.HeapAlloc-before.HeapAlloc)>>10)
			runtime.KeepAlive(r)
		}
	}
}

// build makes rings and says how long it takes, at the best of three times.
func build(t testing.TB, p Placement, members []Member) (r *Rings, took time.Duration) {
	took = time.Hour
	for range 3 {
		begin := time.Now()
		r = rings(t, Options{Placement: p}, members...)
		if took = min(took, time.Since(begin)); took > time.Second {
			break
		}
	}
	return r, took
}

// Two nodes whose clocks differ, or that saw a member at different times,
// disagree on the keys whose turn lies between.
func BenchmarkSimulationOfDisagreement(b *testing.B) {
	for b.Loop() {
		simulateDisagreement(b)
	}
}

func simulateDisagreement(t testing.TB) {
	keys := someKeys(20_000)
	t.Log("nodes + joining | difference | keys in dispute, mean over the window | most at a time")
	for _, c := range []struct{ n, joins int }{{10, 1}, {10, 5}, {100, 10}} {
		members := nodes(0, c.n+c.joins)
		for i := range members {
			members[i].Joined = noon.Add(-time.Hour)
			if i >= c.n {
				members[i].Joined = noon
			}
		}
		r := at(t, Options{}, members, noon)
		for _, apart := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second} {
			sum, most, times := 0.0, 0.0, 0
			for after := time.Duration(0); after < window+apart; after += time.Second {
				disputed := 0
				for _, key := range keys {
					if r.Owner(key, noon.Add(after)) != r.Owner(key, noon.Add(after-apart)) {
						disputed++
					}
				}
				share := float64(disputed) / float64(len(keys)) * 100
				sum, most, times = sum+share, max(most, share), times+1
			}
			t.Logf("%d + %d | %v | %.3f %% | %.2f %%", c.n, c.joins, apart, sum/float64(times), most)
		}
	}
}

// server is a node with one worker: requests wait in line.
type server struct {
	ends []time.Duration // of what waits, in order
	work time.Duration   // in this period
	pass float64
}

// take runs a request and returns how long it waits.
func (s *server) take(now, cost time.Duration) time.Duration {
	begin := now
	if len(s.ends) > 0 {
		begin = max(now, s.ends[len(s.ends)-1])
	}
	s.ends = append(s.ends, begin+cost)
	s.work += cost
	return begin - now
}

func (s *server) inFlight(now time.Duration) int {
	for len(s.ends) > 0 && s.ends[0] <= now {
		s.ends = s.ends[1:]
	}
	return len(s.ends)
}

// BenchmarkSimulationOfBounds serves keys of uneven popularity and cost, and counts
// by rule: the nodes' occupancy, waits, and the copies of keys, each of which
// is a fill of its own.
func BenchmarkSimulationOfBounds(b *testing.B) {
	for b.Loop() {
		simulateBounds(b)
	}
}

func simulateBounds(t testing.TB) {
	t.Log("nodes | rule | occupancy max/mean, deviation | requests away from the owner | copies per key | wait p50, p99")
	for _, n := range []int{10, 50} {
		for _, rule := range []string{"none", "occupancy", "in flight"} {
			simulateBound(t, n, rule)
		}
	}
}

func simulateBound(t testing.TB, n int, rule string) {
	const period, periods = time.Second, 16
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	zipf := rand.NewZipf(rng, 1.05, 200, uint64(20_000*n))
	members := nodes(1, n)
	r, servers := rings(t, Options{}, members...), map[string]*server{}
	for _, m := range members {
		servers[m.Name] = new(server)
	}
	cost := func(key uint64) time.Duration { // of one in fifty: forty times as much
		if mix(key)%50 == 0 {
			return 8 * time.Millisecond
		}
		return 200 * time.Microsecond
	}
	gap := time.Duration(float64(356*time.Microsecond) / float64(n) / 0.6) // 60 % busy
	var waits []time.Duration
	copies, keys, away, requests := map[string]bool{}, map[uint64]bool{}, 0, 0
	occupancies := make([]float64, n)
	next := time.Duration(0)
	for p := range periods {
		passing := Passing{}
		for name, s := range servers {
			if s.pass > 0 {
				passing[name] = s.pass
			}
		}
		for ; next < time.Duration(p+1)*period; next += time.Duration(rng.ExpFloat64() * float64(gap)) {
			id := zipf.Uint64()
			key := fmt.Appendf(nil, "users:%d", id)
			owner := r.Owner(key, noon)
			to := owner
			switch rule {
			case "occupancy":
				to = r.OwnerUnder(passing, key, noon)
			case "in flight":
				counts := make(map[string]int, n)
				for name, s := range servers {
					counts[name] = s.inFlight(next)
				}
				to = r.OwnerUnder(NewInFlight(counts, InFlightFactor), key, noon)
			}
			wait := servers[to].take(next, cost(id))
			if p < periods/2 {
				continue // until the rule has settled
			}
			waits, requests = append(waits, wait), requests+1
			keys[id], copies[to+"/"+string(key)] = true, true
			if to != owner {
				away++
			}
		}
		mean := 0.0
		for _, s := range servers {
			mean += s.work.Seconds() / period.Seconds() / float64(n)
		}
		for i, m := range members {
			s := servers[m.Name]
			occupancy := s.work.Seconds() / period.Seconds()
			s.pass, s.work = Pass(s.pass, occupancy, mean), 0
			if p >= periods/2 {
				occupancies[i] += occupancy
			}
		}
	}
	slices.Sort(waits)
	most, _, deviation := spread(occupancies)
	t.Logf("%d | %s | %.2f, %.0f %% | %.1f %% | %.2f | %v, %v", n, rule, most, deviation*100, float64(away)/float64(requests)*100,
		float64(len(copies))/float64(len(keys)), waits[len(waits)/2].Round(10*time.Microsecond), waits[len(waits)*99/100].Round(10*time.Microsecond))
}
