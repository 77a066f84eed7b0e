package postgres

import (
	"math"
	"testing"

	"github.com/freshet-cache/freshet/proxy"
)

func TestParseHead(t *testing.T) {
	_, want := observed(committed)
	texts := func(s ...string) (values [][]byte) {
		for _, v := range s {
			if v == "NULL" {
				values = append(values, nil)
				continue
			}
			values = append(values, []byte(v))
		}
		return values
	}
	h, err := parseHead(texts("1A/2B3C4D5E", "0000000F", "18446744073709551615", "1700000000123456", "77", want), committed)
	identity := proxy.Identity{System: math.MaxUint64, Timeline: 15, Started: 1700000000123456}
	if err != nil || h != (Head{Identity: identity, Insert: 0x1A2B3C4D5E, horizon: 77, settled: true}) {
		t.Errorf("got %+v, %v", h, err)
	}
	if err := h.judge(); err != nil {
		t.Error(err)
	}
	if p := h.Position(); p.Commit != 0x1A2B3C4D5E || p.Compare(proxy.Position{Commit: p.Commit, Seq: 1}) < 0 {
		t.Errorf("got %+v: a change of that place must not be behind it", p)
	}
	h, err = parseHead(texts("NULL", "NULL", "1", "1", "77", want), committed)
	if err != nil || h.Position().Known() || classify(h.judge()) != isOther {
		t.Errorf("a standby is %+v, %v", h, err)
	}
	h, err = parseHead(texts("0/1", "00000001", "1", "1", "NULL", want+"x"), committed)
	if err != nil || classify(h.judge()) != isPooled {
		t.Errorf("with other settings: %+v, %v", h, err)
	}
	for _, bad := range [][][]byte{
		texts("0/", "00000001", "1", "1", "NULL", want), texts("01", "00000001", "1", "1", "NULL", want), texts("0/1", "1", "-1", "1", "NULL", want),
		texts("0/1", "00000001", "x", "1", "NULL", want), texts("0/1", "00000001", "1", "", "NULL", want), texts("0/1", "100000000", "1", "1", "NULL", want),
		texts("0/1", "00000001", "1", "1", "x", want), texts("0/1", "00000001", "1", "1", "-1", want),
	} {
		if h, err := parseHead(bad, committed); err == nil {
			t.Errorf("%q is taken for %+v", bad, h)
		}
	}
}
