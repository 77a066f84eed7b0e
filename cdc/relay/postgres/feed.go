package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/hook"
	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

const (
	// senderTimeout is when the database takes its reader for dead and lets
	// another relay have the slot.
	senderTimeout = 10 * time.Second
	// silence is when the database is taken for dead: it is asked for an
	// answer each second.
	silence = 15 * time.Second
)

// replication is a connection that the log comes by.
type replication struct {
	pg    *pgconn.PgConn
	heard time.Time // when the last message came
	until time.Time // the deadline of reads
}

// replicate opens a connection to the server of an identity.
func replicate(ctx context.Context, url string, identity proxy.Identity) (*replication, error) {
	config, err := postgres.Config(url)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["replication"] = "database"
	config.RuntimeParams["application_name"] = applicationName
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(err)
	}
	r := &replication{pg: pg, heard: time.Now()}
	if err = r.settle(ctx); err == nil {
		err = r.identify(ctx, identity)
	}
	if err != nil {
		r.close()
		return nil, explain(err)
	}
	return r, nil
}

// settle makes the values of rows have the texts that a fill has.
func (r *replication) settle(ctx context.Context) error {
	settings := append(postgres.Settings(), postgres.Setting{Name: "wal_sender_timeout", Value: milliseconds(senderTimeout)})
	var sql strings.Builder
	for _, s := range settings {
		sql.WriteString("SELECT pg_catalog.set_config(" + literal(s.Name) + ", " + literal(s.Value) + ", false);")
	}
	return r.command(ctx, sql.String())
}

func (r *replication) command(ctx context.Context, text string) error {
	_, err := r.pg.Exec(ctx, text).ReadAll()
	return err
}

// identify checks that it is the same server: behind one address there may be
// several.
func (r *replication) identify(ctx context.Context, want proxy.Identity) error {
	is, err := pglogrepl.IdentifySystem(ctx, r.pg)
	if err != nil {
		return err
	}
	results, err := r.pg.Exec(ctx, "SELECT "+postgres.StartedSQL).ReadAll()
	if err != nil {
		return err
	}
	started := string(results[0].Rows[0][0])
	if is.SystemID != strconv.FormatUint(want.System, 10) || uint64(is.Timeline) != want.Timeline || started != strconv.FormatInt(want.Started, 10) {
		return errOtherServer
	}
	return nil
}

// start begins to read what the slot has not confirmed.
func (r *replication) start(ctx context.Context, slot, publication string) error {
	return pglogrepl.StartReplication(ctx, r.pg, quote(slot), 0, pglogrepl.StartReplicationOptions{PluginArgs: []string{
		"proto_version '1'", "messages 'true'", "publication_names " + literal(quote(publication)),
	}})
}

// receive returns the next message of the log.
func (r *replication) receive() ([]byte, error) {
	now := time.Now()
	if r.until.Sub(now) < statusInterval/2 {
		r.until = now.Add(statusInterval)
		if err := r.pg.Conn().SetReadDeadline(r.until); err != nil {
			return nil, err
		}
	}
	m, err := r.pg.ReceiveMessage(context.Background()) // without a goroutine for each message
	if pgconn.Timeout(err) {
		if time.Since(r.heard) > silence {
			return nil, fmt.Errorf("the database has said nothing for %v", silence)
		}
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	r.heard = time.Now()
	switch m := m.(type) {
	case *pgproto3.ErrorResponse:
		return nil, explain(pgconn.ErrorResponseToPgError(m))
	case *pgproto3.CopyData:
		return payload(m.Data)
	case *pgproto3.CopyDone, *pgproto3.CommandComplete:
		return nil, errors.New("the database has ended the log: it shuts down")
	}
	return nil, nil
}

// payload takes the message of the log out of what carries it; nil if it is a
// sign of life.
func payload(data []byte) ([]byte, error) {
	if len(data) == 0 || data[0] != pglogrepl.XLogDataByteID {
		return nil, nil
	}
	x, err := pglogrepl.ParseXLogData(data[1:])
	if m := x.WALData; len(m) > 9 && m[0] == kindBegin && hook.Mutant(hook.OrderByRow) {
		binary.BigEndian.PutUint64(m[1:], uint64(x.WALStart)) // where its first row is, and not its commit
	}
	return x.WALData, err
}

// confirm asks for an answer each time: so silence means something.
func (r *replication) confirm(lsn uint64) error {
	return pglogrepl.SendStandbyStatusUpdate(context.Background(), r.pg, pglogrepl.StandbyStatusUpdate{
		WALWritePosition: pglogrepl.LSN(lsn), ReplyRequested: true,
	})
}

// close ends the connection, whatever goes on in it.
func (r *replication) close() { _ = r.pg.Conn().Close() }
