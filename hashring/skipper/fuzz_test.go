package skipper

import (
	"strings"
	"testing"
)

// FuzzRing looks keys up on rings of any addresses: every look-up has an
// endpoint, and it is the naive ring's.
func FuzzRing(f *testing.F) {
	f.Add("http://10.0.0.1:8080 http://10.0.0.2:8080", "sku-1")
	f.Add("a", "")
	f.Add("a- a-1 a", "a-11")
	f.Add("  ", " ")
	f.Fuzz(func(t *testing.T, list, key string) {
		addresses := strings.Split(list, " ")
		if len(addresses) > 8 {
			return
		}
		r := ringOf(t, addresses...)
		endpoints := make([]Endpoint, len(addresses))
		for i, a := range addresses {
			endpoints[i] = Endpoint{a, 1}
		}
		hash := Hash([]byte(key))
		got, want := r.Owner(hash), naively(endpoints).first(hash, everyone)
		if addresses[got] != addresses[want] {
			t.Errorf("%q is at %q, want %q", key, addresses[got], addresses[want])
		}
	})
}
