package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/cdc/relay"
	"github.com/freshet-cache/freshet/proxy"
)

// bubble reads a script whose topic has announced all there is.
func bubble(t *testing.T, f func(r *reading)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := read(t, newScript(), nil)
		r.log.session.close()
		r = read(t, newScript(), r.state())
		defer r.log.Close()
		f(r)
	})
}

// fresh reads a script whose topic holds nothing.
func fresh(t *testing.T, f func(r *reading)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := read(t, newScript(), nil)
		defer r.log.Close()
		f(r)
	})
}

// A transaction that the log has and no snapshot shows waits, and what lies
// behind it: the other way round, a checkpoint would pass it.
func TestGate(t *testing.T) {
	bubble(t, func(r *reading) {
		r.shows(10, 11, 10)
		r.send(beginOf(110, 10), users(), insertOf("1", "Ada"), commitOf())
		r.send(beginOf(120, 9), insertOf("2", "Bob"), commitOf())
		r.send(beginOf(130, 8), r.check(77, testFingerprint), commitOf())
		b := r.poll()
		r.want(b)
		if b.T != proxy.Never || b.Through.Commit != 99 {
			t.Errorf("T %v and through %v before it is visible", b.T, b.Through)
		}
		r.shows(11, 11)
		time.Sleep(lastLook)
		b = r.poll()
		r.want(b, "110/1 insert → id=1 name=Ada, last", "120/1 insert → id=2 name=Bob, last")
		if b.T != 77 || b.Through.Commit != 130 || !bytes.Equal(b.State, r.state()) {
			t.Errorf("T %v through %v", b.T, b.Through)
		}
	})
}

// A snapshot that was taken before a commit arrived proves nothing of it:
//
//	1 a snapshot shows all there is
//	2 transaction 20 is committed and waits for a standby; its commit arrives
//	3 judged by the snapshot of 1, of which 20 is no part yet, it is shipped
func TestSnapshotIsLaterThanTheCommit(t *testing.T) {
	bubble(t, func(r *reading) {
		r.shows(1<<32, 1<<32)
		r.send(beginOf(110, math.MaxUint32), users(), insertOf("1", "Ada"), commitOf())
		r.want(r.poll(), "110/1 insert → id=1 name=Ada, last")
		before := r.snapshots
		r.shows(1<<32+3, 1<<32+9, 1<<32+3, 1<<32+5)
		r.send(beginOf(120, 3), insertOf("2", "Bob"), commitOf(), beginOf(130, 5), insertOf("3", "Eve"), commitOf())
		r.want(r.poll())
		if r.snapshots == before {
			t.Error("no snapshot was taken")
		}
		r.shows(1<<32+5, 1<<32+9, 1<<32+5)
		time.Sleep(lastLook)
		r.want(r.poll(), "120/1 insert → id=2 name=Bob, last")
		r.shows(1<<32+9, 1<<32+9)
		time.Sleep(lastLook)
		r.want(r.poll(), "130/1 insert → id=3 name=Eve, last")
	})
}

// What another server replicates to this one has the time of its commit there,
// which would make an entry look fresher than it is.
func TestTimesOfOtherServers(t *testing.T) {
	bubble(t, func(r *reading) {
		origin := append(binary.BigEndian.AppendUint64([]byte{kindOrigin}, 5), "elsewhere\x00"...)
		r.send(beginOf(110, 10), origin, users(), insertOf("1", "Ada"), commitOf())
		r.send(beginOf(120, 11), insertOf("2", "Bob"), commitOf())
		b := r.poll()
		r.want(b, "110/1 insert → id=1 name=Ada, last", "120/1 insert → id=2 name=Bob, last")
		if there, here := b.Changes[0].Commit, b.Changes[1].Commit; there != proxy.Never || here == proxy.Never {
			t.Errorf("commit times %v and %v", there, here)
		}
	})
}

// What waits for hours is not asked for a thousand times a second, and told.
func TestLooksArePaced(t *testing.T) {
	bubble(t, func(r *reading) {
		r.shows(10, 11, 10)
		r.send(beginOf(110, 10), users(), insertOf("1", "Ada"), commitOf())
		began := time.Now()
		for time.Since(began) < time.Minute {
			r.poll()
		}
		if r.snapshots > int(2*time.Minute/lastLook) {
			t.Errorf("%d snapshots in a minute", r.snapshots)
		}
		if got := r.log.Waiting(); got != waitsForGate {
			t.Errorf("waits for %q", got)
		}
		r.log.disconnect()
		if got := r.log.Waiting(); got != "" {
			t.Errorf("waits for %q after its end", got)
		}
	})
}

// Where the topic's checkpoints say nothing of this slot or publication,
// transactions may have been committed that it has not, and that nobody sees
// yet:
//
//	1 transaction 20 is committed and waits for a standby
//	2 the slot is made behind it
//	3 a stream begins, a node fills the old row, and nothing ever corrects it
func TestBarrier(t *testing.T) {
	other := fingerprint{publication: 9, tables: []uint64{2}}
	for _, test := range []struct {
		name  string
		state func(*reading) []byte
		waits bool
	}{
		{"another stream", func(*reading) []byte { return nil }, true},
		{"another publication", func(r *reading) []byte { return other.state(r.log.tables) }, true},
		{"something else", func(*reading) []byte { return []byte("short") }, true},
		{"another catalog", func(r *reading) []byte { return fingerprint{1, []uint64{3}}.state(r.log.tables) }, false},
		{"the same", func(r *reading) []byte { return r.state() }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := read(t, newScript(), nil)
				r.log.session.close()
				s := newScript()
				s.top = 25
				s.shows(20, 30, 20)
				r = read(t, s, test.state(r))
				defer r.log.Close()
				r.send(beginOf(110, 21), r.check(77, testFingerprint), commitOf(), beginOf(120, 22), users(), insertOf("1", "Ada"), commitOf())
				b := r.poll()
				if waited := len(b.Changes) == 0 && b.T == proxy.Never; waited != test.waits {
					t.Errorf("handed out %d changes and T %v", len(b.Changes), b.T)
				}
				if told := r.log.Waiting() == waitsForBarrier; told != test.waits {
					t.Errorf("waits for %q", r.log.Waiting())
				}
				r.shows(25, 30)
				time.Sleep(lastLook)
				b = r.poll()
				if test.waits {
					r.want(b, "110/1 schema", "120/1 insert → id=1 name=Ada, last")
				}
				if got := r.log.Waiting(); got != "" {
					t.Errorf("waits for %q with nothing in the way", got)
				}
			})
		})
	}
}

// A checkpoint of a fingerprint that was not announced is behind a change of
// all rows; one of another session is none.
func TestCheckpoints(t *testing.T) {
	bubble(t, func(r *reading) {
		r.send(beginOf(110, 1), r.check(77, testFingerprint), commitOf())
		b := r.poll()
		r.want(b)
		if b.T != 77 {
			t.Errorf("T %v", b.T)
		}
		altered := fingerprint{publication: 1, tables: []uint64{3}}
		r.send(beginOf(120, 2), r.check(78, altered), commitOf(), beginOf(130, 3), r.check(79, altered), commitOf())
		b = r.poll()
		r.want(b, "120/1 schema")
		if b.T != 79 || !bytes.Equal(b.State, altered.state(r.log.tables)) {
			t.Errorf("T %v, state %x", b.T, b.State)
		}
		forged := checkpoint{nonce: r.log.session.nonce + 1, t: 99, fingerprint: testFingerprint}
		unsteady := messageOf(prefix, (&checkpoint{nonce: r.log.session.nonce, t: 99, fingerprint: testFingerprint}).append(nil))
		unsteady[1] = 0 // not part of a transaction
		r.send(beginOf(140, 4), messageOf(prefix, forged.append(nil)), messageOf(prefix, nil), messageOf("other", []byte("x")), commitOf(), unsteady)
		if b = r.poll(); b.T != 79 {
			t.Errorf("T %v by somebody else's message", b.T)
		}
		if b.Through.Commit != 140 {
			t.Errorf("through %v", b.Through)
		}
	})
}

// A time is known only between transactions: the position of a checkpoint must
// be none that a change will have.
func TestLargeTransaction(t *testing.T) {
	bubble(t, func(r *reading) {
		const rows = 20000
		r.send(beginOf(105, 1), r.check(77, testFingerprint), commitOf())
		r.want(r.poll())
		rest := rows
		r.feed(func() []byte {
			switch rest--; {
			case rest == rows-1:
				return beginOf(110, 10)
			case rest == rows-2:
				return users()
			case rest >= 0:
				return updateOf(fmt.Sprint(rest%100+1), strings.Repeat("x", 100))
			case rest == -1:
				return commitOf()
			}
			return nil
		})
		parts, last, seq := 0, 0, uint64(0)
		for last == 0 {
			b, err := r.log.Poll(r.Context(), r.log.session.through())
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Changes) == 0 {
				continue
			}
			parts++
			for _, c := range b.Changes {
				if c.Position.Seq <= seq {
					t.Fatalf("position %v behind %d", c.Position, seq)
				}
				seq = c.Position.Seq
				if c.Last {
					last++
				}
			}
			open := r.log.session.assembler.open
			if open && b.T != proxy.Never || !open && b.T != 77 {
				t.Errorf("T %v, in a transaction: %v", b.T, open)
			}
			if b.Through.Seq < seq {
				t.Errorf("through %v and position %d", b.Through, seq)
			}
		}
		if parts < 2 || last != 100 {
			t.Errorf("%d parts, the last with %d of 100 rows' last changes", parts, last)
		}
	})
}

// The rows of one transaction, 70 MB of them as they are held, take the memory that is set aside for
// them, and the database is told all the time that its reader lives, also while
// nothing is taken.
func TestTransactionInBoundedMemory(t *testing.T) {
	s := newScript()
	rest := 300000
	value := strings.Repeat("x", 100)
	s.next = func() []byte {
		switch rest--; {
		case rest == 299999:
			return beginOf(110, 10)
		case rest == 299998:
			return users()
		case rest >= 0:
			return insertOf(fmt.Sprint(rest+1), value)
		case rest == -1:
			return commitOf()
		}
		return nil
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := read(t, s, nil)
	defer r.log.Close()
	var most uint64
	changes := 0
	for changes < 299998 {
		b, err := r.log.Poll(t.Context(), r.log.session.through())
		if err != nil {
			t.Fatal(err)
		}
		changes += len(b.Changes)
		if changes%50000 < len(b.Changes) {
			var now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 2*maxHeldBytes {
		t.Errorf("%d bytes more than before", grown)
	} else {
		t.Logf("%d changes, at most %d bytes more than before", changes, grown)
	}
}

func TestReaderLivesWhileNothingIsTaken(t *testing.T) {
	bubble(t, func(r *reading) {
		began := time.Now()
		r.send(beginOf(110, 10))
		synctest.Wait()
		r.feed(func() []byte { return insertOf("1", strings.Repeat("x", 1<<20)) })
		r.send(users()) // what is waited for comes first
		time.Sleep(time.Minute)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, at := range r.times {
			if at.Sub(began) > 2*statusInterval {
				t.Errorf("silent for %v", at.Sub(began))
			}
			began = at
		}
		if time.Since(began) > 2*statusInterval {
			t.Errorf("silent for %v", time.Since(began))
		}
		if size := r.log.session.inbox.size; size > maxHeldBytes {
			t.Errorf("%d bytes are held", size)
		}
	})
}

// What Kafka has is confirmed soon, and nothing else ever.
func TestConfirms(t *testing.T) {
	bubble(t, func(r *reading) {
		r.send(beginOf(110, 10), users(), insertOf("1", "Ada"), commitOf(), beginOf(120, 11), r.check(77, testFingerprint), commitOf())
		b := r.poll()
		if err := r.log.Ack(r.Context(), relay.Mark{Topic: 5, Through: b.Through}); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			r.send(beginOf(uint64(130+i), 12), commitOf())
			time.Sleep(100 * time.Millisecond)
			r.poll()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, lsn := range r.confirmed {
			if lsn != 100 && lsn != 121 {
				t.Errorf("confirmed %d", lsn)
			}
		}
		if n := len(r.confirmed); n == 0 || r.confirmed[n-1] != 121 {
			t.Errorf("confirmed %v", r.confirmed)
		}
	})
}

// An error ends a session, and the next begins where the slot is.
func TestSessionEnds(t *testing.T) {
	for name, end := range map[string]func(*reading){
		"the feed":                    func(r *reading) { close(r.sent) },
		"a snapshot":                  func(r *reading) { r.fail = errors.New("no answer"); r.send(beginOf(110, 1), commitOf()) },
		"a begin that makes no sense": func(r *reading) { r.send([]byte{kindBegin, 1}) },
		"an empty message":            func(r *reading) { r.send([]byte{}) },
		"a row outside":               func(r *reading) { r.send(insertOf("1", "x")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *reading) {
				end(r)
				var err error
				for range 5 {
					if _, err = r.log.Poll(r.Context(), proxy.Position{Commit: 99, Seq: 1}); err != nil {
						break
					}
				}
				if err == nil || !strings.Contains(err.Error(), `slot "s"`) {
					t.Errorf("error %v", err)
				}
				if _, err := r.log.Poll(r.Context(), proxy.Position{Commit: 99, Seq: 1}); err == nil {
					t.Error("a session that has ended goes on")
				}
				if err := r.log.Ack(r.Context(), relay.Mark{}); err == nil {
					t.Error("a session that has ended is acknowledged")
				}
			})
		})
	}
}

// While the topic is away a relay begins again and again. The log goes on being
// read by one session, as long as nothing was handed out.
func TestBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, newScript(), nil)
		defer r.log.Close()
		nothing := proxy.Position{}
		begin := func() *session {
			t.Helper()
			if _, err := r.log.Poll(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
			return r.log.session
		}
		first := r.log.session // the topic's end was told
		r.restart()
		second := begin()
		if second == first {
			t.Error("what was handed out is not read again")
		}
		if begin() != second {
			t.Error("what was not handed out is read again")
		}
		close(r.sent)
		synctest.Wait()
		r.restart()
		if begin() == second {
			t.Error("a session that has ended goes on")
		}
	})
}

// Renew makes the next session begin behind everything, so as another stream.
func TestRenew(t *testing.T) {
	bubble(t, func(r *reading) {
		if err := r.log.Renew(r.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []uint64{math.MaxUint64, 99} {
			r.restart()
			b, err := r.log.Poll(r.Context(), proxy.Position{})
			if err != nil {
				t.Fatal(err)
			}
			if b.Begin.Commit != want {
				t.Errorf("begins at %v, want %d", b.Begin, want)
			}
			if err := r.log.Ack(r.Context(), relay.Mark{Topic: 6}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
