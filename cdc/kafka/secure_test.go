package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// identity makes a self-signed certificate that serves as authority, server
// and client, and returns it with its two files.
func identity(t *testing.T, name string) (tls.Certificate, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:                  true,
		BasicConstraintsValid: true,
		DNSNames:              []string{name},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, data := range map[string][]byte{certFile: certPEM, keyFile: keyPEM} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, certFile, keyFile
}

func reaches(t *testing.T, opts Options) {
	t.Helper()
	e := newEar()
	start(t, opts, e, quiet())
	e.untilAttached(t)
	put(t, producer(t, opts), 0, "hello")
	e.untilRecord(t, "hello")
}

func isKeptOut(t *testing.T, opts Options, word string) {
	t.Helper()
	var logged buffer
	start(t, opts, newEar(), logger(&logged))
	logged.until(t, word, 1) // a machine that is busy may say first that nobody answers
	if !strings.Contains(logged.String(), "waiting for Kafka") {
		t.Errorf("%q, and nobody waits:\n%s", word, logged.String())
	}
	if strings.Contains(logged.String(), "secret") {
		t.Errorf("a password was logged:\n%s", logged.String())
	}
}

func TestTLS(t *testing.T) {
	server, ca, _ := identity(t, "127.0.0.1")
	c := cluster(t, kfake.SeedTopics(1, topic), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{server}}))
	opts := options(c.ListenAddrs())
	t.Run("trusted", func(t *testing.T) { opts.TLS = TLS{CA: ca}; reaches(t, opts) })
	t.Run("unknown authority", func(t *testing.T) { opts.TLS = TLS{Enabled: true}; isKeptOut(t, opts, "stream.kafka.tls.ca_file") })
	t.Run("another name", func(t *testing.T) {
		opts.TLS = TLS{CA: ca, ServerName: "kafka.example"}
		isKeptOut(t, opts, "stream.kafka.tls.server_name")
	})
	t.Run("plain", func(t *testing.T) { opts.TLS = TLS{}; isKeptOut(t, opts, "another stream.kafka.tls") })
}

func TestTLSBothWays(t *testing.T) {
	server, ca, _ := identity(t, "kafka.example")
	client, cert, key := identity(t, "freshet")
	pool := x509.NewCertPool()
	pool.AddCert(client.Leaf)
	c := cluster(t, kfake.SeedTopics(1, topic), kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}))
	opts := options(c.ListenAddrs())
	opts.TLS = TLS{CA: ca, ServerName: "kafka.example", Cert: cert, Key: key}
	reaches(t, opts)
	opts.TLS.Cert, opts.TLS.Key = "", ""
	isKeptOut(t, opts, "stream.kafka.tls.cert_file")
}

func TestSASL(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			c := cluster(t, kfake.SeedTopics(1, topic), kfake.EnableSASL(), kfake.Superuser(mechanism, "user", "secret"))
			opts := options(c.ListenAddrs())
			opts.SASL = SASL{Mechanism: mechanism, User: "user", Password: "secret"}
			reaches(t, opts)
			opts.SASL.Password = "secret too"
			isKeptOut(t, opts, "stream.kafka.sasl") // this broker hangs up; a real one says why
		})
	}
}
