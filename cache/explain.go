package cache

import (
	"fmt"
	"strconv"

	"github.com/freshet-cache/freshet/proxy"
)

// Explain says what a read of key under its use case's bound would find, and
// why, and what is remembered of the key: pairs of a name and a value, for a
// person to read. It takes no fill and changes no entry; the key is watched from
// now on, so that the next Explain tells its reads, too.
func (c *Cache) Explain(key proxy.Key) [][2]string {
	u := &c.cases[key.UseCase.ID]
	hash := hashOf(key.Text)
	at := c.now()
	e := c.known(u, hash, key.Text)
	running, waiting := c.locks.Running(hash, key.Text)
	if e == nil && running != nil {
		e = running.landed()
	}
	facts := [][2]string{
		{"key", string(key.Text)},
		{"hash", fmt.Sprintf("%016x", hash)},
		{"use case", key.UseCase.Name},
		{"bound", u.Bound.String()},
		{"stamp slot", strconv.FormatUint(c.stamps.index(hash), 10)},
		{"stamp", strconv.FormatUint(c.stamps.of(hash), 10)},
		{"epoch", strconv.FormatUint(u.epoch.Load(), 10)},
		{"watermark age", proxy.AgeText(at.hi, at.watermark)},
		{"a read now", c.outcome(u, e, running, hash, at)},
	}
	if e != nil {
		facts = append(facts, [][2]string{
			{"entry", presence(e)},
			{"entry stamp", strconv.FormatUint(e.stamp, 10)},
			{"entry epoch", strconv.FormatUint(e.epoch, 10)},
			{"as-of", strconv.FormatInt(int64(e.asOf(at.watermark)), 10)},
			{"as-of age", proxy.AgeText(at.hi, e.asOf(at.watermark))},
			{"position", place(e.position)},
			{"ttl left", proxy.AgeText(e.expires, at.hi)},
		}...)
	}
	if running != nil {
		facts = append(facts, [2]string{"fill running", running.why.String()})
	}
	if waiting {
		facts = append(facts, [2]string{"fill waiting", "yes"})
	}
	for i, line := range c.Trace(key) {
		facts = append(facts, [2]string{"trace " + strconv.Itoa(i+1), line})
	}
	c.Watch(key)
	return facts
}

// outcome is judge in words; unlike judge it does not use up what is known of
// evictions.
func (c *Cache) outcome(u *useCase, e *entry, running *flight, hash uint64, at moment) string {
	why := "not in memory"
	if e != nil {
		switch r := c.judge(u, e, hash, proxy.Freshness{}, &at); r {
		case reasonNone:
			return "hit"
		case reasonRefresh:
			return "hit, refreshed ahead"
		default:
			why = r.String()
		}
	}
	if running != nil && c.mayJoin(u, running, proxy.Freshness{}, at) {
		return "shares the fill under way: " + why
	}
	return "fill: " + why
}

func presence(e *entry) string {
	kind := "lifted"
	if e.pinned {
		kind = "pinned"
	}
	if !e.row.Exists() {
		return "absence, " + kind
	}
	return strconv.Itoa(e.row.Size()) + " bytes, " + kind
}
