package hashring

import (
	"strings"
	"testing"
)

// FuzzPermutation makes rings of any list of members in two orders: either
// both are refused, or both give every slot to the same
// member.
func FuzzPermutation(f *testing.F) {
	f.Add("cache-1,cache-11,cache-111", []byte{1, 1, 1}, uint64(1))
	f.Add("a,a/0#,a#1,a#", []byte{1, 2, 3, 4}, uint64(2))
	f.Add("a,b,a", []byte{1}, uint64(3))
	f.Add("a,,b", []byte{1}, uint64(4))
	f.Add("a\n,b\xff", []byte{1}, uint64(5))
	f.Add("a,b", []byte{0, 255}, uint64(6))
	f.Fuzz(func(t *testing.T, list string, weights []byte, seed uint64) {
		names := strings.Split(list, ",")
		if len(names) > 6 {
			return
		}
		members := even(names...)
		for i := range members {
			if i < len(weights) {
				if members[i].Weight = int(int8(weights[i])); members[i].Weight > 8 {
					members[i].Weight *= maxWeight // one that is refused costs nothing
				}
			}
		}
		for _, p := range []Placement{Rendezvous, Skipper} {
			a, wrong := New(Options{Placement: p}, 1, members, noon)
			b, wrongToo := New(Options{Placement: p}, 1, shuffled(members, seed), noon)
			if wrong != nil || wrongToo != nil {
				// The first of several complaints may be about another member.
				if wrong == nil || wrongToo == nil {
					t.Fatalf("%s: %v in one order, %v in the other", p, wrong, wrongToo)
				}
				continue
			}
			if a.Checksum() != b.Checksum() {
				t.Fatalf("%s: two checksums for %q", p, list)
			}
			for _, key := range someKeys(64) {
				if x, y := a.Owner(key, noon), b.Owner(key, noon); x != y {
					t.Fatalf("%s: %q is of %q or %q", p, key, x, y)
				}
			}
		}
	})
}
