package node

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/cdc/audit"
	"github.com/freshet-cache/freshet/proxy"
)

// audits makes the auditor, if this node is to have one: it sees what the
// applier sees, and reads source itself, around the cache.
func (n *Node) audits(source proxy.Source) *audit.Auditor {
	c := &n.config.Audit
	if !c.Enabled {
		return nil
	}
	o := audit.Options{OneIn: c.ChangesOneIn, Slack: time.Duration(c.Slack), ReadsPerSecond: c.ReadsPerSecond}
	for _, u := range cacheOptions(n.config, n.catalog).UseCases {
		o.Bounds = append(o.Bounds, u.Bound)
	}
	a := audit.New(n.catalog, n.cache, source, n.watermark, n.clock, o, n.log)
	n.applier.Tap(a)
	n.registry.MustRegister(a)
	return a
}

// audit runs the auditor, if there is one.
func (n *Node) audit(ctx context.Context) error {
	if n.auditor == nil {
		<-ctx.Done()
		return nil
	}
	return n.auditor.Run(ctx)
}

// answerAudit shows the newest violations that an audit has found. It names
// keys, as little else on the admin port does.
func answerAudit(w http.ResponseWriter, a *audit.Auditor) {
	page := struct {
		Enabled    bool              `json:"enabled"`
		Violations []audit.Violation `json:"violations"`
	}{Enabled: a != nil, Violations: []audit.Violation{}}
	if a != nil {
		page.Violations = a.Violations()
	}
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(page) // who asked has gone
}

// violationsOf tells those of one key.
func violationsOf(a *audit.Auditor, key proxy.Key) (facts [][2]string) {
	if a == nil {
		return nil
	}
	for _, v := range a.Violations() {
		if v.Key == string(key.Text) {
			facts = append(facts, [2]string{"violation " + strconv.Itoa(len(facts)+1),
				"found " + v.Found + ": as of " + v.AsOf + ", says the entry (" + v.Held + "); but the source had " + v.Source + " at or before " + v.SourceRead})
		}
	}
	return facts
}
