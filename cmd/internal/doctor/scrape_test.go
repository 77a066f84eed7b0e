package doctor

import (
	"testing"
	"time"
)

func TestMetrics(t *testing.T) {
	m := parseMetrics(`# HELP freshet_x a thing
# TYPE freshet_x counter
freshet_x{reason="start"} 4
freshet_x{reason="a b"} 2
freshet_x_more 100
freshet_y 0.25
freshet_z +Inf
nonsense
freshet_w what
`)
	if got := m.sum("freshet_x", ""); got != 6 {
		t.Errorf("the sum is %v", got)
	}
	if got := m.sum("freshet_x", `reason="start"`); got != 2 {
		t.Errorf("the sum of the others is %v", got)
	}
	for name, want := range map[string]time.Duration{"freshet_y": 250 * time.Millisecond, "freshet_z": -1, "freshet_v": -1} {
		if got := m.seconds(name); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{5: "5 B", 2048: "2.0 KiB", 5 << 20: "5.0 MiB", 3 << 30: "3.0 GiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{
		90 * time.Second: "1m30s", 1234567 * time.Microsecond: "1.23s", 12345678: "12.3ms", 1234567: "1.235ms", -90 * time.Second: "-1m30s",
	} {
		if got := short(d); got != want {
			t.Errorf("%d: %s", d, got)
		}
	}
	if got := list([]int{1, 2, 3}); got != "1, 2, 3" {
		t.Error(got)
	}
	if got := list([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}); got != "1, 2, 3, 4, 5, 6, 7, 8 and 2 more" {
		t.Error(got)
	}
	var l Level
	if err := l.UnmarshalText([]byte("worse")); err == nil {
		t.Error("there is no such level")
	}
}
