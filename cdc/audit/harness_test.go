package audit

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/freshet-cache/freshet/cdc/event"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

var schema = &row.Schema{Columns: []string{"v"}}

func value(v string) row.Row {
	if v == "" {
		return row.Row{}
	}
	r, ok := row.Encode(schema, []row.Field{{Name: "v", Kind: row.Text, Value: []byte(v)}})
	if !ok {
		panic("the schema has one column")
	}
	return r
}

// world is an auditor over fakes, in a bubble: the source's clock is the
// bubble's.
type world struct {
	*Auditor
	t       *testing.T
	catalog *proxy.Catalog
	log     bytes.Buffer

	mu      sync.Mutex
	held    map[string]proxy.Held
	rows    map[string]string
	reads   int // keys
	picks   int // of them, the one that is picked
	err     error
	foreign error // what the stream says to the primary that answered
	shift   time.Duration
	offset  int64
	any     string
	watched []string
}

func (w *world) Peek(key proxy.Key) proxy.Held {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[string(key.Text)]
}

func (w *world) Any(uint64) (proxy.Key, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, err := w.catalog.Key([]byte(w.any))
	return key, err == nil
}

func (w *world) Watch(key proxy.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = append(w.watched, string(key.Text))
}

func (w *world) Trace(proxy.Key) []string { return []string{"what happened"} }

func (w *world) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads += len(reqs)
	for i, r := range reqs {
		if string(r.Key.Text) == w.any {
			w.picks++
		}
		results[i] = proxy.Result{Row: value(w.rows[string(r.Key.Text)]), Err: w.err}
	}
}

func (w *world) Found(proxy.Identity, proxy.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.foreign
}

func (w *world) Bounds() (lo, hi proxy.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := proxy.Time(time.Now().Add(w.shift).UnixNano())
	return now, now
}

// locked changes what the fakes say.
func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// hold lets the node hold a value as of so long ago; id tells entries apart.
func (w *world) hold(key, v string, id uint64, age time.Duration) {
	_, now := w.Bounds()
	w.locked(func() {
		w.held[key] = proxy.Held{Holding: proxy.Served, Hash: 0xfeed, Row: value(v), AsOf: now.Add(-age),
			Entry: proxy.EntryID{Stamp: id}}
	})
}

func (w *world) set(key string, f func(h *proxy.Held)) {
	w.locked(func() {
		h := w.held[key]
		f(&h)
		w.held[key] = h
	})
}

// change is a change of a row of users that is committed now, and comes now.
func (w *world) change(id string) {
	_, now := w.Bounds()
	w.offset++
	w.Change(proxy.Record{Partition: 2, Offset: w.offset}, &event.Record{
		Position: proxy.Position{Commit: 7, Seq: uint64(w.offset)},
		Change: &event.Change{Table: "users", Op: event.Update, Commit: now,
			Before: []row.Field{{Name: "id", Kind: row.Number, Value: []byte(id)}},
			After:  []row.Field{{Name: "id", Kind: row.Number, Value: []byte(id)}, {Name: "v", Kind: row.Text, Value: []byte("x")}}},
	})
}

// pass lets time pass, and every beat in it.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) // the bubble's
	synctest.Wait()
}

func mapped(name, table string) *row.Mapping {
	m := &row.Mapping{Spec: row.Spec{Name: name, Table: table}, Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}}, Primary: true}
	m.Learn(0, schema)
	return m
}

// audited runs a test over an auditor with one use case "users" with a bound of
// 2 s, that follows every change.
func audited(t *testing.T, opts Options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		catalog, err := proxy.NewCatalog(mapped("users", "users"))
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, catalog: catalog, held: map[string]proxy.Held{}, rows: map[string]string{}}
		if opts.OneIn == 0 {
			opts.OneIn = 1
		}
		opts.Bounds = []time.Duration{2 * time.Second}
		w.Auditor = New(catalog, w, w, w, w, opts, slog.New(slog.NewTextHandler(&w.log, nil)))
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		test(w)
		end()
		running.Wait()
	})
}

// counts returns the series of a metric that are not zero: labels, a space and
// the count, one per line in the order of the registry.
func (w *world) counts(name string) string {
	w.t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.Auditor)
	families, err := registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, f := range families {
		if f.GetName() != "freshet_audit_"+name+"_total" && f.GetName() != "freshet_audit_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			if n := m.GetCounter().GetValue() + m.GetGauge().GetValue(); n > 0 {
				out = append(out, labels(m)+plain(n))
			}
		}
	}
	return strings.Join(out, ", ")
}

func labels(m *dto.Metric) string {
	var s string
	for _, l := range m.GetLabel() {
		if l.GetName() != "use_case" {
			s += l.GetValue() + " "
		}
	}
	return s
}
