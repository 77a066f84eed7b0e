package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// Interest says what of a database [Inspect] looks at beside its use cases.
type Interest struct {
	Slot        string
	Publication string
	Checkpoints []string // tables of checkpoints, spelled as a use case's
}

// Facts is what a database is found to be, for who judges a deployment. It
// says nothing of what is right.
type Facts struct {
	Server      Server
	Tables      []Inspected // one for each spec
	Publication Publication
	Slot        Slot
	OtherSlots  []Slot // logical ones of this database that nobody reads
	Checkpoints []CheckpointFacts
}

// Inspect looks at a database. It writes nothing, and asks a standby as well:
// the server then says that it is none that is written to.
func Inspect(ctx context.Context, o Options, specs []row.Spec, in Interest) (*Facts, error) {
	config, err := Config(o.URL)
	if err != nil {
		return nil, err
	}
	config.ValidateConnect = nil
	c, err := Dial(ctx, config, o)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	f := &Facts{}
	f.Server.Verified = verified(config)
	for _, step := range []func() error{
		func() error { return f.Server.inspect(ctx, c) },
		func() (err error) { f.Tables, err = inspectTables(ctx, c, specs, in.Publication); return err },
		func() error { return f.Publication.inspect(ctx, c, in.Publication) },
		func() error { return f.inspectSlots(ctx, c, in.Slot) },
		func() error { return f.inspectCheckpoints(ctx, c, in) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("look at the database: %w%s", err, mend(err))
		}
	}
	return f, nil
}

// verified reports whether a connection knows whom it speaks to.
func verified(c *pgconn.Config) bool {
	t := c.TLSConfig
	return t != nil && (!t.InsecureSkipVerify || t.VerifyPeerCertificate != nil || t.VerifyConnection != nil)
}

// Server is a server and this user in it.
type Server struct {
	Version   int  // 150018
	Standby   bool // it follows another server
	Pooled    bool // a pooler stands in front of it
	Settled   bool // the settings that decide the text of values hold in a session
	Encrypted bool // the connection
	Verified  bool // the connection's other end, by its certificate
	Remote    bool // it is another machine

	WALLevel     string
	KeepBytes    int64 // max_slot_wal_keep_size; -1: no limit
	Slots        int   // in use
	MaxSlots     int
	Senders      int
	MaxSenders   int
	Synchronous  string        // synchronous_standby_names
	Standbys     int           // that follow now
	IdleTimeout  time.Duration // after which a slot that nobody reads is given up (18); 0: never
	OldestWriter time.Duration // how long the oldest transaction has run that has written; what a new slot waits for
	Prepared     int           // transactions that are prepared and not ended
	Defaults     []string      // settings of role or database, of those that decide the text of values

	User        string
	Superuser   bool
	Replication bool // may read the log
	Statistics  bool // may see what others do
	Create      bool // may make a publication in the database
	CreateTable bool // may make a table in schema public
}

const serverQuery = `SELECT current_setting('server_version_num'), pg_is_in_recovery(),
	coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
	coalesce(inet_client_addr() <> inet_server_addr(), false),
	current_setting('wal_level'),
	CASE WHEN current_setting('max_slot_wal_keep_size') = '-1' THEN -1 ELSE pg_size_bytes(current_setting('max_slot_wal_keep_size')) END,
	(SELECT count(*) FROM pg_replication_slots), current_setting('max_replication_slots'),
	(SELECT count(*) FROM pg_stat_replication), current_setting('max_wal_senders'), current_setting('synchronous_standby_names'),
	(SELECT count(*) FROM pg_stat_replication AS r WHERE r.state IS DISTINCT FROM 'startup' AND NOT EXISTS (
		SELECT FROM pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')),
	coalesce((SELECT setting::int8 * CASE unit WHEN 's' THEN 1 WHEN 'min' THEN 60 ELSE 0 END FROM pg_settings WHERE name = 'idle_replication_slot_timeout'), 0),
	coalesce((SELECT extract(epoch FROM max(clock_timestamp() - a.xact_start))::int8 FROM pg_stat_activity AS a WHERE a.backend_xid IS NOT NULL AND a.datname = current_database()), 0),
	(SELECT count(*) FROM pg_prepared_xacts),
	current_user, r.rolsuper, r.rolreplication OR r.rolsuper, r.rolsuper OR pg_has_role('pg_read_all_stats', 'USAGE'),
	has_database_privilege(current_database(), 'CREATE'), has_schema_privilege('public', 'CREATE')
	FROM pg_roles AS r WHERE r.rolname = current_user`

func (s *Server) inspect(ctx context.Context, c *Conn) error {
	head, err := c.Head(ctx)
	if err != nil {
		return err
	}
	s.Settled, s.Pooled = head.settled, c.pooled
	err = c.Query(ctx, func(v [][]byte) error {
		n := numbers{}
		s.Version, s.Standby, s.Encrypted, s.Remote = int(n.of(v[0])), yes(v[1]), yes(v[2]), yes(v[3])
		s.WALLevel, s.KeepBytes = string(v[4]), n.of(v[5])
		s.Slots, s.MaxSlots, s.Senders, s.MaxSenders = int(n.of(v[6])), int(n.of(v[7])), int(n.of(v[8])), int(n.of(v[9]))
		s.Synchronous, s.Standbys = string(v[10]), int(n.of(v[11]))
		s.IdleTimeout = time.Duration(n.of(v[12])) * time.Second
		s.OldestWriter, s.Prepared = time.Duration(n.of(v[13]))*time.Second, int(n.of(v[14]))
		s.User, s.Superuser, s.Replication, s.Statistics = string(v[15]), yes(v[16]), yes(v[17]), yes(v[18])
		s.Create, s.CreateTable = yes(v[19]), yes(v[20])
		return n.err
	}, serverQuery)
	if err != nil {
		return err
	}
	return s.inspectDefaults(ctx, c)
}

const defaultsQuery = `SELECT DISTINCT unnest(s.setconfig) FROM pg_db_role_setting AS s
	LEFT JOIN pg_roles AS r ON r.oid = s.setrole LEFT JOIN pg_database AS d ON d.oid = s.setdatabase
	WHERE (s.setrole = 0 OR r.rolname = current_user) AND (s.setdatabase = 0 OR d.datname = current_database()) ORDER BY 1`

// inspectDefaults finds what role and database set of what sessions here set
// themselves.
func (s *Server) inspectDefaults(ctx context.Context, c *Conn) error {
	return c.Query(ctx, func(v [][]byte) error {
		name, _, _ := strings.Cut(string(v[0]), "=")
		for _, own := range Settings() {
			if strings.EqualFold(own.Name, name) {
				s.Defaults = append(s.Defaults, string(v[0]))
			}
		}
		return nil
	}, defaultsQuery)
}

// numbers reads the texts of numbers, and keeps the first error. NULL is 0.
type numbers struct{ err error }

func (n *numbers) of(text []byte) int64 {
	if text == nil {
		return 0
	}
	i, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil && n.err == nil {
		n.err = err
	}
	return i
}
