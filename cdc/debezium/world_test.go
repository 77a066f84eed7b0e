package debezium

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/cache"
	"github.com/freshet-cache/freshet/cdc"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

const (
	bound     = time.Second
	heartbeat = 100 * time.Millisecond
)

// shipped is a record in a topic.
type shipped struct{ key, value string }

// database is a PostgreSQL whose log is ahead of what its readers see, with a
// connector that ships it at once.
type database struct {
	mu      sync.Mutex
	id      proxy.Identity
	next    uint64 // the next transaction's number
	running map[uint64]bool
	rows    map[string]string // as readers see them
	print   string            // the catalog's fingerprint, as rows carry it; empty: they do not
	catalog string            // as whoever asks reads it
	away    error
	asked   int
	seq     uint64
	mute    bool        // heartbeats are carried out, and their rows do not reach the topic
	topic   [][]shipped // by partition
	seen    []time.Time // per version of key 1, when it was visible
}

func newDatabase(partitions int) *database {
	return &database{
		id: proxy.Identity{System: 1, Timeline: 1, Started: 7}, next: 3 << 32, running: map[uint64]bool{},
		rows: map[string]string{"users:1": "0", "users:2": "0"}, print: "p1", catalog: "c1",
		topic: make([][]shipped, partitions), seen: []time.Time{time.Now()},
	}
}

func now() proxy.Time { return proxy.Time(time.Now().UnixNano()) }

// begin gives a transaction its number.
func (d *database) begin() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	d.running[d.next] = true
	return d.next
}

// log puts the change and the commit of a transaction into the topic: nobody
// sees it yet.
func (d *database) log(xid uint64, key int, commit proxy.Time) {
	d.ship(0, fmt.Sprintf(`{"id":%d}`, key), fmt.Sprintf(`{"op":"u","before":null,"after":{"id":%d,"v":"x"},"source":{"connector":"postgresql","schema":"public","table":"users","txId":%d,"ts_us":%d,"snapshot":"false"}}`,
		key, uint32(xid), int64(commit)/1000))
}

func (d *database) ship(partition int, key, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.topic[partition] = append(d.topic[partition], shipped{key, value})
}

// show makes what a transaction wrote to a row visible.
func (d *database) show(xid uint64, key int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, xid)
	name := fmt.Sprint("users:", key)
	n, _ := strconv.Atoi(d.rows[name])
	d.rows[name] = strconv.Itoa(n + 1)
	if key == 1 {
		d.seen = append(d.seen, time.Now())
	}
}

// write is a transaction that can be seen at once.
func (d *database) write(key int) {
	xid := d.begin()
	d.log(xid, key, now())
	d.show(xid, key)
}

// beat is the heartbeat: it updates two rows of each partition.
func (d *database) beat() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	d.seq++
	if d.mute {
		return
	}
	print := `null`
	if d.print != "" {
		print = strconv.Quote(d.print)
	}
	for p := range d.topic {
		for id := range 2 {
			d.topic[p] = append(d.topic[p], shipped{fmt.Sprintf(`{"id":%d}`, 2*p+id), fmt.Sprintf(
				`{"op":"u","before":null,"after":{"id":%d,"seq":%d,"t":%d,"system":%d,"timeline":%d,"started":%d,"slot":"s","fingerprint":%s},"source":{"connector":"postgresql","schema":"public","table":"freshet_checkpoint","txId":%d,"snapshot":"false"}}`,
				2*p+id, d.seq, now(), d.id.System, d.id.Timeline, d.id.Started, print, uint32(d.next))})
		}
	}
}

func (d *database) lowest() uint64 {
	low := d.next + 1
	for xid := range d.running {
		low = min(low, xid)
	}
	return low
}

func (d *database) Snapshot(context.Context) (proxy.Identity, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	if d.away != nil {
		return proxy.Identity{}, "", d.away
	}
	text := fmt.Sprintf("%d:%d:", d.lowest(), d.next+1)
	for i, xid := range slices.Sorted(mapKeys(d.running)) {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprint(xid)
	}
	return d.id, text, nil
}

func mapKeys(m map[uint64]bool) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (d *database) Horizon(context.Context) (proxy.Identity, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away != nil {
		return proxy.Identity{}, 0, d.away
	}
	d.next++
	return d.id, d.next, nil
}

func (d *database) Fingerprint(context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.catalog, d.away
}

func (d *database) Load(_ context.Context, reqs []proxy.Request, results []proxy.Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range reqs {
		v, _ := row.Encode(&row.Schema{Columns: []string{"id", "v"}}, []row.Field{
			{Name: "id", Kind: row.Number, Value: r.Key.Text[len("users:"):]}, {Name: "v", Kind: row.Text, Value: []byte(d.rows[string(r.Key.Text)])},
		})
		results[i] = proxy.Result{Row: v, Position: proxy.Position{Commit: d.next}, Primary: d.id, Horizon: d.lowest()}
	}
}

func (d *database) Apply(context.Context, []proxy.Write, []proxy.Written) {}

type clock struct{}

func (clock) Bounds() (lo, hi proxy.Time) { return now(), now() }

// world is a database, a connector, and a node that follows it, in a bubble.
type world struct {
	t *testing.T
	*database
	catalog   *proxy.Catalog
	cache     *cache.Cache
	applier   *cdc.Applier
	watermark *cdc.Watermark
	barrier   *Barrier
	stream    *Stream
	read      []int // of each partition, the next record
	filled    time.Time
	hits      int // that only the stream justifies
}

type setup struct {
	lag       time.Duration
	noBarrier bool // fills go around it
	covers    string
	maxHeld   int
}

// play runs a story in a bubble: a node that has not attached yet.
func play(t *testing.T, partitions int, o setup, story func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, partitions, o)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := w.stream.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer running.Wait()
		cached, end := context.WithCancel(context.WithoutCancel(t.Context()))
		running.Go(func() {
			if err := w.cache.Run(cached); err != nil {
				t.Error(err)
			}
		})
		defer end()
		defer cancel()
		story(w)
	})
}

func newWorld(t *testing.T, partitions int, o setup) *world {
	m := &row.Mapping{Spec: row.Spec{Name: "users", Table: "users"}, Primary: true, Columns: []row.KeyColumn{{Name: "id", Kind: row.KeyInt}}}
	catalog, err := proxy.NewCatalog(m)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, database: newDatabase(partitions), catalog: catalog, watermark: cdc.NewWatermark(), barrier: NewBarrier(o.lag), read: make([]int, partitions)}
	w.learn()
	source := w.barrier.Stage(w.database)
	if o.noBarrier {
		source = w.database
	}
	w.cache, err = cache.New(catalog, source, w.watermark, clock{}, cache.Options{Bytes: 32 << 20, UseCases: []cache.UseCase{{Bound: bound, NoRefresh: true}}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	w.applier = cdc.NewApplier(catalog, w.cache, w.watermark, clock{}, log)
	w.applier.OnMissing(w.barrier.Raise)
	var primary Primary = w.database
	if o.lag > 0 {
		primary = nil
	}
	w.stream = NewStream(primary, w.barrier, w.applier, StreamOptions{
		Decoder: Options{Catalog: catalog, CheckpointTable: "freshet_checkpoint"}, Covers: o.covers, MaxHeld: o.maxHeld,
		Where: func(partition int) (string, int) { return "topic", partition },
	}, log)
	return w
}

// learn does what a source does after its columns were forgotten.
func (w *world) learn() {
	m := w.catalog.All()[0].Mapping
	m.Learn(m.Generation(), &row.Schema{Columns: []string{"id", "v"}})
}

// attach follows the topic from its end.
func (w *world) attach() {
	w.stream.Lost("test")
	w.mu.Lock()
	for p := range w.topic {
		w.read[p] = len(w.topic[p])
	}
	w.mu.Unlock()
	w.stream.Attached(len(w.topic))
}

// bring hands over what the topic has.
func (w *world) bring() {
	for p := range w.read {
		for {
			w.mu.Lock()
			if w.read[p] == len(w.topic[p]) {
				w.mu.Unlock()
				break
			}
			r := w.topic[p][w.read[p]]
			w.mu.Unlock()
			w.read[p]++
			w.stream.Record(p, int64(w.read[p]), []byte(r.key), []byte(r.value))
		}
	}
}

// run lets that much time pass, with heartbeats, probes and readers, and
// returns the first answer that is outside its bound or ahead of its time.
func (w *world) run(d time.Duration) error {
	const tick = 5 * time.Millisecond
	for i := range int(d / tick) {
		time.Sleep(tick)
		if i%int(heartbeat/tick) == 0 {
			w.beat()
		}
		if i%10 == 0 {
			w.mu.Lock()
			id := w.id
			w.mu.Unlock()
			_ = w.watermark.Found(id, now())
		}
		w.bring()
		synctest.Wait()
		w.learn()
		if err := w.look(); err != nil {
			return err
		}
	}
	return nil
}

var errOld = errors.New("an answer is older than its bound")

// look reads row 1, and judges the answer.
func (w *world) look() error {
	version, res := w.ask(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if next := version + 1; next < len(w.seen) && time.Since(w.seen[next]) > bound {
		return fmt.Errorf("%w: version %d, its successor could be read %v ago", errOld, version, time.Since(w.seen[next]))
	}
	if version >= len(w.seen) {
		return fmt.Errorf("version %d is of the future", version)
	}
	if res.Origin != proxy.FromCache {
		w.filled = time.Now()
	} else if time.Since(w.filled) > bound {
		w.hits++
	}
	return nil
}

func (w *world) ask(id int) (version int, res proxy.Result) {
	key, err := w.catalog.Key(fmt.Appendf(nil, "users:%d", id))
	if err != nil {
		w.t.Fatal(err)
	}
	results := make([]proxy.Result, 1)
	w.cache.Load(w.t.Context(), []proxy.Request{{Key: key}}, results)
	if results[0].Err != nil {
		w.t.Fatal(results[0].Err)
	}
	_, text, _ := results[0].Row.Lookup([]byte("v"))
	version, _ = strconv.Atoi(string(text))
	return version, results[0]
}

// must runs on, and wants no answer outside its bound.
func (w *world) must(d time.Duration) {
	w.t.Helper()
	if err := w.run(d); err != nil {
		w.t.Fatal(err)
	}
}

// lifted reads row 1 for that long, and returns how many of the answers were
// hits that only the stream justifies.
func (w *world) lifted(d time.Duration) int {
	w.t.Helper()
	before := w.hits
	w.must(d)
	return w.hits - before
}

// metricOf returns a counter of the applier's: of lies, or of changes of an
// operation.
func (w *world) metricOf(what string) float64 {
	w.t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(w.applier, w.stream)
	families, err := reg.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "freshet_cdc_"+what+"_total" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == what {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
