package e2e

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/freshet-cache/freshet/cmd/internal/node"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

// locked is a server that lets the user sealed in over TLS alone, and with a
// password; its certificate is for 127.0.0.1.
func locked(t *testing.T, papers authority) *stack.Postgres {
	t.Helper()
	p := stacktest.Postgres(t, stack.PG15)
	if !p.Ours() {
		t.Skip("needs a server with a certificate of its own: leave FRESHET_POSTGRES_URL out")
	}
	stacktest.Exec(t, p, append(seed(3), "CREATE ROLE sealed SUPERUSER LOGIN PASSWORD 'right'")...)
	hba, err := os.ReadFile(filepath.Join(p.Data(), "pg_hba.conf"))
	if err != nil {
		t.Fatal(err)
	}
	cert, key := papers.issue(t, "server", "127.0.0.1")
	for name, content := range map[string][]byte{
		"server.crt": cert, "server.key": key,
		"pg_hba.conf": append([]byte("hostssl all sealed all scram-sha-256\nhostnossl all sealed all reject\n"), hba...),
	} {
		if err := p.Put(name, content); err != nil {
			t.Fatal(err)
		}
	}
	stacktest.Exec(t, p, "ALTER SYSTEM SET ssl = on")
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// sealed is the URL of the user sealed, for that host.
func sealed(t *testing.T, p *stack.Postgres, host, password, query string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(p.Address())
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "postgres", User: url.User("sealed"), Host: net.JoinHostPort(host, port), Path: "/postgres", RawQuery: query}
	if password != "" {
		u.User = url.UserPassword("sealed", password)
	}
	return u.String()
}

// Each sslmode is libpq's, to a node and to a relay.
func TestRealTLSToPostgres(t *testing.T) {
	stacktest.Need(t)
	papers, others := newAuthority(t, "theirs"), newAuthority(t, "another")
	p := locked(t, papers)
	const right, named = "right", "127.0.0.1"
	for _, test := range []struct {
		host, password, query string
		want                  string // "": it works
	}{
		{named, right, "sslmode=disable", "pg_hba.conf"},
		{named, right, "sslmode=allow", ""},
		{named, right, "sslmode=prefer", ""},
		{named, right, "sslmode=require", ""},
		{"localhost", right, "sslmode=require", ""},
		{named, "wrong", "sslmode=require", "correct the user or the password"},
		{named, right, "sslmode=require&sslrootcert=" + others.file, "give the authority with sslrootcert"},
		{named, right, "sslmode=verify-ca&sslrootcert=" + papers.file, ""},
		{"localhost", right, "sslmode=verify-ca&sslrootcert=" + papers.file, ""},
		{named, right, "sslmode=verify-ca&sslrootcert=" + others.file, "give the authority with sslrootcert"},
		{named, right, "sslmode=verify-full&sslrootcert=" + papers.file, ""},
		{"localhost", right, "sslmode=verify-full&sslrootcert=" + papers.file, "the name in the certificate as the host"},
		{named, right, "sslmode=verify-full&sslrootcert=" + others.file, "give the authority with sslrootcert"},
		{named, right, "sslmode=verify-full", "give the authority with sslrootcert"},
		{named, right, "sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem"},
	} {
		c := parse(t, gateSettings, map[string]string{"URL": sealed(t, p, test.host, test.password, test.query)})
		for who, err := range map[string]error{"a node": node.Check(t.Context(), c), "a relay": node.CheckRelay(t.Context(), c)} {
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%s at %s, %s: %v", who, test.host, test.query, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s at %s, %s: got %v, want %q", who, test.host, test.query, err, test.want)
			case err != nil && (strings.Contains(err.Error(), ":right") || strings.Contains(err.Error(), ":wrong")):
				t.Errorf("the password is in: %v", err)
			}
		}
	}
}

// fortress is a broker that is reached over TLS: by who signs in, or by who
// shows a certificate.
type fortress struct {
	*stack.Kafka
	signed, mutual string // addresses
}

func newFortress(t *testing.T, papers authority) fortress {
	t.Helper()
	cert, key := papers.issue(t, "server", "127.0.0.1")
	store := filepath.Join(t.TempDir(), "server.pem")
	writeFile(t, store, append(key, cert...))
	f := fortress{signed: address(t), mutual: address(t)}
	f.Kafka = stacktest.Kafka(t, nil,
		"listeners=SIGNED://"+f.signed, "listeners=MUTUAL://"+f.mutual,
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SIGNED:SASL_SSL,MUTUAL:SSL",
		"ssl.keystore.type=PEM", "ssl.keystore.location="+store,
		"ssl.truststore.type=PEM", "ssl.truststore.location="+papers.file,
		"listener.name.mutual.ssl.client.auth=required",
		"listener.name.signed.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512",
		`listener.name.signed.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_plain="right";`,
		"listener.name.signed.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
	)
	if !f.Ours() {
		t.Skip("needs a broker with listeners of its own: leave FRESHET_KAFKA out")
	}
	f.enrol(t, "scram", "right")
	return f
}

// enrol makes a user who signs in with SCRAM-SHA-512.
func (f fortress) enrol(t *testing.T, user, password string) {
	t.Helper()
	const turns = 4096
	salt := []byte("salt of a test")
	salted, err := pbkdf2.Key(sha512.New, password, salt, turns, sha512.Size)
	if err != nil {
		t.Fatal(err)
	}
	transport := &kafkago.Transport{}
	defer transport.CloseIdleConnections()
	admin := kafkago.Client{Addr: kafkago.TCP(f.Address()), Transport: transport, Timeout: patience}
	res, err := admin.AlterUserScramCredentials(t.Context(), &kafkago.AlterUserScramCredentialsRequest{
		Upsertions: []kafkago.UserScramCredentialsUpsertion{{
			Name: user, Mechanism: kafkago.ScramMechanismSha512, Iterations: turns, Salt: salt, SaltedPassword: salted,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res.Results {
		if r.Error != nil {
			t.Fatal(r.Error)
		}
	}
}

// scramming is to sign in as the user that newFortress has made.
const scramming = `, sasl: {mechanism: scram-sha-512, username: scram, password: "${RIGHT}"}`

func signs(mechanism, user, password string) string {
	return fmt.Sprintf(", sasl: {mechanism: %s, username: %s, password: \"${%s}\"}", mechanism, user, password)
}

// trusting are settings of TLS with that authority, and more.
func trusting(a authority, more ...string) string {
	return fmt.Sprintf("tls: {%s}", strings.Join(append(more, "enabled: true", fmt.Sprintf("ca_file: %q", a.file)), ", "))
}

func shows(cert, key string) string { return fmt.Sprintf("cert_file: %q, key_file: %q", cert, key) }

// way is how a broker is reached.
type way struct{ name, broker, settings, want string }

// shop is one whose broker is reached in that way.
func (w way) shop(t *testing.T, database string) *shop {
	t.Helper()
	text := fmt.Sprintf(`
node: {listen: "%s", admin: "%s"}
stream: {kafka: {brokers: ["%s"], topic: changes, %s}}
%s`, anyPort, anyPort, w.broker, w.settings, gateSettings)
	c := parse(t, text, map[string]string{"URL": database, "RIGHT": "right", "WRONG": "wrong"})
	return &shop{t: t, dir: t.TempDir(), config: c}
}

// Over TLS and with passwords to both the database and the broker, a change
// that is made with SQL is seen through the node.
func TestRealSecureEndToEnd(t *testing.T) {
	stacktest.Need(t)
	papers := newAuthority(t, "theirs")
	p := locked(t, papers)
	f := newFortress(t, papers)
	cert, key := papers.files(t, "freshet")

	// The password to the database is in .pgpass.
	pass := filepath.Join(t.TempDir(), "pgpass")
	writeFile(t, pass, []byte("127.0.0.1:*:*:sealed:right\n"))
	t.Setenv("PGPASSFILE", pass)
	database := sealed(t, p, "127.0.0.1", "", "sslmode=verify-full&sslrootcert="+papers.file)

	for i, w := range []way{
		{name: "scram", broker: f.signed, settings: trusting(papers) + scramming},
		{name: "plain", broker: f.signed, settings: trusting(papers) + signs("plain", "plain", "RIGHT")},
		{name: "certificate", broker: f.mutual, settings: trusting(papers, shows(cert, key))},
	} {
		t.Run(w.name, func(t *testing.T) {
			s := w.shop(t, database)
			stop := s.relay()
			defer stop()
			n := s.node()
			s.await(n)
			c := s.client(n.Address())
			c.do("HGET", "versions:0", "v")
			stacktest.Exec(t, p, fmt.Sprintf("UPDATE versions SET v = %d WHERE id = 0", i+1))
			c.becomes(gateBound, fmt.Sprint(i+1), "HGET", "versions:0", "v")
			eventually(t, "it comes through the stream", func() bool { return s.metric(n, "freshet_cdc_changes_total") > 0 })
			for _, query := range []string{
				"SELECT count(*) FROM pg_stat_replication JOIN pg_stat_ssl USING (pid) WHERE ssl",
				"SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'sealed' AND ssl",
			} {
				if got, err := p.Query(t.Context(), query); err != nil || got == "0" {
					t.Errorf("%s: %s, %v", query, got, err)
				}
			}
		})
	}
}

// What is wrong on the way to the broker, the relay and the node wait for, and
// say what mends it.
func TestRealSecureBrokerRefuses(t *testing.T) {
	stacktest.Need(t)
	papers, others := newAuthority(t, "theirs"), newAuthority(t, "another")
	p := stacktest.Postgres(t, stack.PG15)
	stacktest.Exec(t, p, seed(1)...)
	f := newFortress(t, papers)
	stranger, strangerKey := others.files(t, "freshet")
	type waiting struct {
		way
		admin string
	}
	var waits []waiting
	for i, w := range []way{
		{"wrong password, scram", f.signed, trusting(papers) + signs("scram-sha-512", "scram", "WRONG"), "kafka.sasl.password"},
		{"wrong password, plain", f.signed, trusting(papers) + signs("plain", "plain", "WRONG"), "kafka.sasl.password"},
		{"no such user", f.signed, trusting(papers) + signs("scram-sha-512", "nobody", "RIGHT"), "kafka.sasl.username"},
		{"wrong authority", f.signed, trusting(others) + scramming, "kafka.tls.ca_file"},
		{"no authority", f.signed, "tls: {enabled: true}" + scramming, "kafka.tls.ca_file"},
		{"wrong name", f.signed, trusting(papers, "server_name: kafka.example") + scramming, "kafka.tls.server_name"},
		{"no TLS", f.signed, "client_id: freshet" + scramming, "kafka.tls"},
		{"nobody", f.signed, trusting(papers), "kafka.sasl"},
		{"TLS to a listener without", f.Address(), trusting(papers), "kafka.tls"},
		{"user to a listener without", f.Address(), "client_id: freshet" + scramming, "kafka.sasl"},
		{"no certificate", f.mutual, trusting(papers), "kafka.tls.cert_file"},
		{"certificate of another authority", f.mutual, trusting(papers, shows(stranger, strangerKey)), "kafka.tls.cert_file"},
		{"no broker", nobody, trusting(papers), "start the brokers (127.0.0.1:1)"},
	} {
		s := w.shop(t, p.URL("", ""))
		// It takes a relay a while to say it; each has a slot, so all wait at once.
		s.config.Relay.Admin, s.config.Relay.Slot = anyPort, fmt.Sprintf("slot_%d", i)
		r, err := node.OpenRelay(t.Context(), s.config, s.log())
		if err != nil {
			t.Fatal(err)
		}
		s.spawn("relay", r.Run)
		n := s.node()
		waits = append(waits, waiting{w, n.Admin()}, waiting{w, r.Admin()})
	}
	for _, one := range waits {
		var text string
		eventually(t, one.name+": "+one.want, func() bool {
			text = fetch(one.admin, "/readyz")
			return strings.HasPrefix(text, "not ready\n") && strings.Contains(text, one.want)
		})
		if strings.Contains(text, "wrong") || strings.Contains(text, "right") {
			t.Errorf("%s: the password is in: %s", one.name, text)
		}
	}
	endsOverMechanism(t, p, f, papers)
}

// Where no waiting helps, a node ends and says why.
func endsOverMechanism(t *testing.T, p *stack.Postgres, f fortress, papers authority) {
	t.Helper()
	s := way{broker: f.signed, settings: trusting(papers) + signs("scram-sha-256", "scram", "RIGHT")}.shop(t, p.URL("", ""))
	n, err := node.Open(t.Context(), s.config, s.log())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := n.Run(ctx); err == nil || !strings.Contains(err.Error(), "kafka.sasl.mechanism") {
		t.Errorf("got %v", err)
	}
}
