package run

import (
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// reading is what a history holds of a node's /metrics.
type reading struct {
	counted []history.Counters // of each use case
	age     time.Duration      // of the watermark; below 0: there is none
	began   uint64             // when the node's process did, in milliseconds; 0: it does not say
}

// read takes it out of the text.
func read(text string) reading {
	r := reading{age: -1}
	evictions, instead := uint64(0), uint64(0)
	of := map[string]int{}
	for line := range strings.Lines(text) {
		name, labels, value, ok := series(line)
		if !ok {
			continue
		}
		n := uint64(value)
		switch name {
		case "freshet_watermark_age_seconds":
			if value < 1e6 { // without a watermark it is as good as infinite
				r.age = time.Duration(value * float64(time.Second))
			}
			continue
		case "freshet_start_time_seconds":
			r.began = uint64(value * 1000)
			continue
		case "freshet_cache_evictions_total":
			evictions = n
			continue
		case "freshet_route_reads_total", "freshet_route_misplaced_total", "freshet_route_hedges_in_vain_total", "freshet_route_warmed_total":
			if outcome := labels["outcome"]; outcome != "own" && outcome != "hot" && outcome != "forwarded" {
				instead += n
			}
			continue
		}
		useCase := labels["use_case"]
		if useCase == "" || !strings.HasPrefix(name, "freshet_cache_") {
			continue
		}
		i, ok := of[useCase]
		if !ok {
			i = len(r.counted)
			of[useCase] = i
			r.counted = append(r.counted, history.Counters{UseCase: useCase, Fills: map[string]uint64{}})
		}
		take(&r.counted[i], name, labels["reason"], n)
	}
	for i := range r.counted {
		r.counted[i].Evictions, r.counted[i].Instead = evictions, instead
	}
	return r
}

func take(c *history.Counters, name, reason string, n uint64) {
	switch name {
	case "freshet_cache_fills_total":
		c.Fills[reason] = n
	case "freshet_cache_hits_total":
		c.Hits = n
	case "freshet_cache_joins_total":
		c.Joins = n
	case "freshet_cache_installs_refused_total":
		c.Refused = n
	case "freshet_cache_replaced_total":
		c.Replaced = n
	case "freshet_cache_dropped_total":
		c.Dropped = n
	case "freshet_cache_voids_total":
		c.Voids = n
	}
}

// since takes away what had been counted before.
func since(c *history.Counters, before history.Counters) {
	for reason, n := range before.Fills {
		c.Fills[reason] -= n
	}
	c.Hits -= before.Hits
	c.Joins -= before.Joins
	c.Refused -= before.Refused
	c.Replaced -= before.Replaced
	c.Dropped -= before.Dropped
	c.Voids -= before.Voids
	c.Evictions -= before.Evictions
	c.Instead -= before.Instead
}

// series reads one line of the text format. Label values that hold quotes or
// commas are none of ours.
func series(line string) (name string, labels map[string]string, value float64, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, 0, false
	}
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return "", nil, 0, false
	}
	value, err := strconv.ParseFloat(line[at+1:], 64)
	if err != nil {
		return "", nil, 0, false
	}
	name, rest, _ := strings.Cut(line[:at], "{")
	labels = map[string]string{}
	for _, pair := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			labels[k] = strings.Trim(v, `"`)
		}
	}
	return name, labels, value, true
}
