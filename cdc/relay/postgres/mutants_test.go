//go:build mutants

package postgres

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
)

// Each mutant of this package is caught by a check that is green without it.
func TestMutantsAreCaught(t *testing.T) {
	defer hook.Set(hook.None)
	for m, check := range map[hook.M]func(*reading) error{
		hook.NoRelayGate:       holdsBack,
		hook.FingerprintUnread: announces,
		hook.CheckpointNow:     readsTheTimeFirst,
	} {
		for _, on := range []hook.M{hook.None, m} {
			t.Run(fmt.Sprint(m, " on ", on), func(t *testing.T) {
				hook.Set(on)
				defer hook.Set(hook.None)
				synctest.Test(t, func(t *testing.T) {
					r := read(t, newScript(), nil)
					defer r.log.Close()
					r.send(beginOf(105, 1), r.check(1, testFingerprint), commitOf())
					r.poll()
					if err := check(r); (err != nil) != (on == m) {
						t.Errorf("the check says %v", err)
					}
				})
			})
		}
	}
}

func holdsBack(r *reading) error {
	r.shows(10, 11, 10)
	r.send(beginOf(110, 10), users(), insertOf("1", "Ada"), commitOf())
	if b := r.poll(); len(b.Changes) > 0 {
		return fmt.Errorf("%d changes are shipped before they are visible", len(b.Changes))
	}
	return nil
}

func announces(r *reading) error {
	r.send(beginOf(110, 1), r.check(2, fingerprint{1, []uint64{3}}), commitOf())
	if b := r.poll(); len(b.Changes) != 1 {
		return fmt.Errorf("%d changes before the checkpoint of another catalog", len(b.Changes))
	}
	return nil
}

func readsTheTimeFirst(r *reading) error {
	then := proxy.Time(time.Now().UnixNano())
	m := r.check(then, testFingerprint)
	time.Sleep(time.Second)
	r.send(beginOf(110, 1), m, commitOf())
	if b := r.poll(); b.T != then {
		return fmt.Errorf("a checkpoint of %v after it was read", b.T.Sub(then))
	}
	return nil
}
