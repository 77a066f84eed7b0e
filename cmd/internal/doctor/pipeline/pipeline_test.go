package pipeline

import (
	"testing"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

const ms = proxy.Time(time.Millisecond)

func TestSmallestBoundIsTheSum(t *testing.T) {
	p := Pipeline{Interval: 100 * time.Millisecond, Delay: 20 * time.Millisecond, Width: time.Millisecond}
	if got, want := p.SmallestBound(), 121*time.Millisecond; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestQuantile(t *testing.T) {
	var thousand []time.Duration
	for i := range 1000 {
		thousand = append(thousand, time.Duration(999-i))
	}
	for _, c := range []struct {
		of   []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.999, 0},
		{[]time.Duration{7}, 0.999, 7},
		{[]time.Duration{7, 3, 9}, 0.999, 9},
		{[]time.Duration{7, 3, 9}, 0.5, 7},
		{thousand, 0.999, 999},
		{thousand, 0.5, 500},
		{thousand, 0, 0},
	} {
		if got := Quantile(c.of, c.q); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.q, len(c.of), got, c.want)
		}
	}
}

// Two partitions: a checkpoint is there when the later one has it.
func TestMeterWaitsForTheLastPartition(t *testing.T) {
	m := NewMeter(2)
	if got := m.Silent(); len(got) != 2 {
		t.Errorf("silent at first: %v", got)
	}
	for i := range proxy.Time(100) {
		at := i * 100 * ms
		m.Checkpoint(0, at+1, at+5*ms)
		m.Checkpoint(1, at+1, at+1+30*ms)
		m.Checkpoint(1, at+1, at+90*ms) // a repeat
	}
	if m.Samples() != 99 || len(m.Silent()) != 0 {
		t.Errorf("%d samples, silent %v", m.Samples(), m.Silent())
	}
	got := m.Pipeline(2 * time.Millisecond)
	if want := (Pipeline{100 * time.Millisecond, 30 * time.Millisecond, 2 * time.Millisecond}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if m.Median() != 30*time.Millisecond {
		t.Errorf("median %v", m.Median())
	}
}

// A partition that is silent holds the watermark, and nothing is measured.
func TestMeterMeasuresNothingWithoutAll(t *testing.T) {
	m := NewMeter(3)
	for i := range proxy.Time(10) {
		m.Checkpoint(0, i+1, i+2)
		m.Checkpoint(2, i+1, i+2)
	}
	m.Checkpoint(9, 1, 2) // of no partition that is followed
	if got := m.Silent(); len(got) != 1 || got[0] != 1 || m.Samples() != 0 || m.Pipeline(5).Interval != 0 {
		t.Errorf("silent %v, %d samples, %+v", got, m.Samples(), m.Pipeline(5))
	}
}

// A clock that is not known, or behind a checkpoint, gives no delay below zero.
func TestMeterWithoutAClock(t *testing.T) {
	m := NewMeter(1)
	m.Checkpoint(0, 10, 10)
	m.Checkpoint(0, 20, proxy.Never)
	m.Checkpoint(0, 30, 25)
	if m.Samples() != 1 || m.Median() != 0 {
		t.Errorf("%d samples, median %v", m.Samples(), m.Median())
	}
}
