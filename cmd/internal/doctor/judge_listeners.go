package doctor

import (
	"net"
	"strings"

	"github.com/freshet-cache/freshet/cmd/internal/config"
)

// judgeListeners judges who can reach and read what goes over the network.
func judgeListeners(f *Facts) (out findings) {
	c := f.Config
	open := len(c.Users) == 0 && !config.Loopback(c.Node.Listen)
	out.check(!open, Finding{Check: "users", About: c.Node.Listen, Level: Warning, Found: ifElse(open, "others reach this port, and there are no users", "nobody who should not can say anything"), Wanted: "users, or a port of this machine alone",
		Why: "whoever reaches it may read and write every mapped table", Mend: do("add users to the configuration")})
	admin := []struct{ setting, address string }{{"node.admin", c.Node.Admin}}
	if !f.debezium() && c.Relay.Admin != "" {
		admin = append(admin, struct{ setting, address string }{"relay.admin", c.Relay.Admin})
	}
	for _, a := range admin {
		private := config.Loopback(a.address)
		_, port, _ := net.SplitHostPort(a.address)
		out.check(private, Finding{Check: "admin port", About: a.address, Level: Note, Found: ifElse(private, "only this machine reaches it", "others reach it"), Wanted: "a private network",
			Why: "it knows no users: whoever reaches it sees metrics and can take profiles", Mend: &Mend{Do: "let only your monitoring through, or", Config: map[string]string{a.setting: net.JoinHostPort("127.0.0.1", port)}}})
	}
	judgeWires(f, &out)
	return out
}

func judgeWires(f *Facts, out *findings) {
	if f.Database != nil && f.Database.Server.Remote {
		s := &f.Database.Server
		out.check(s.Encrypted && s.Verified, Finding{Check: "connection to the database", Level: Warning, Found: ifElse(!s.Encrypted, "is not encrypted", ifElse(s.Verified, "is encrypted and verified", "is encrypted, and the server's certificate is not looked at")), Wanted: "sslmode=verify-full",
			Why: "who stands in between reads rows, and may answer in the database's place", Mend: do("add sslmode=verify-full to the URL, with sslrootcert if the authority is your own")})
	}
	k := &f.Config.Stream.Kafka
	var far []string
	for _, b := range k.Brokers {
		if host, _, err := net.SplitHostPort(b); err == nil && !config.Loopback(b) {
			far = append(far, host)
		}
	}
	if len(far) > 0 {
		out.check(k.TLS.Enabled, Finding{Check: "connection to Kafka", Level: Warning, Found: ifElse(k.TLS.Enabled, "is encrypted", "to "+strings.Join(far, ", ")+" is not encrypted"), Wanted: "stream.kafka.tls",
			Why: "rows go over it" + ifElse(k.SASL.Mechanism == "plain", ", and the password", "") + "; who stands in between may make changes up", Mend: setting("stream.kafka.tls.enabled", "true")})
	}
}
