package stack

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const kafkaVersion = "4.3.1"

// Kafka is one broker that is its own controller.
type Kafka struct {
	*Process // nil: not ours

	dir     string
	broker  string // where it listens
	address string // where clients are led to
}

// StartKafka starts a broker with no topics. Settings are lines of
// server.properties; a line listeners=… names more of them, beside the one
// without encryption. With a forwarder, clients are led through it.
// FRESHET_KAFKA names a broker to use instead, as HOST:PORT.
func StartKafka(ctx context.Context, through *Forwarder, settings ...string) (*Kafka, error) {
	if given := os.Getenv("FRESHET_KAFKA"); given != "" {
		if through != nil {
			return nil, fmt.Errorf("lead clients through a forwarder: %w", ErrNotOurs)
		}
		return &Kafka{address: given}, nil
	}
	java, err := tool(ctx, "java", "default-jre-headless")
	if err != nil {
		return nil, fmt.Errorf("Kafka: %w", err)
	}
	jars, err := kafkaJars(ctx)
	if err != nil {
		return nil, fmt.Errorf("Kafka: %w", err)
	}
	k := &Kafka{}
	if k.dir, err = os.MkdirTemp("", "freshet-kafka-"); err != nil {
		return nil, err
	}
	if err = k.configure(through, settings); err == nil {
		if err = k.format(ctx, java, jars); err == nil {
			k.Process = k.process(java, jars)
			err = k.Start(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kafka) process(java, jars string) *Process {
	return NewProcess(Program{
		Path:    java,
		Args:    append(machine(jars), "kafka.Kafka", k.properties()),
		Log:     filepath.Join(k.dir, "log"),
		Answers: func(ctx context.Context) error { return kafkaAnswers(ctx, k.broker) },
	})
}

func kafkaJars(ctx context.Context) (string, error) {
	return fetched("kafka-"+kafkaVersion, func(dir string) error {
		return fromMaven(ctx, dir,
			artifact{"org.apache.kafka", "kafka_2.13", kafkaVersion},
			artifact{"org.apache.kafka", "kafka-tools", kafkaVersion})
	})
}

// machine is the Java machine: small, quick to start.
func machine(jars string) []string {
	return []string{"-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars, "*")}
}

func (k *Kafka) properties() string { return filepath.Join(k.dir, "server.properties") }

// properties of every broker. Those of a test come after, and win.
const properties = `
process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
`

func (k *Kafka) configure(through *Forwarder, more []string) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	control, err := FreePort()
	if err != nil {
		return err
	}
	k.broker = fmt.Sprintf("127.0.0.1:%d", port)
	k.address = k.broker
	if through != nil {
		through.To(k.broker)
		k.address = through.Address()
	}
	lines, listeners := []string{}, ""
	for _, line := range more {
		if own, found := strings.CutPrefix(line, "listeners="); found {
			listeners += "," + own
			continue
		}
		lines = append(lines, line)
	}
	own := fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d%s\nadvertised.listeners=PLAINTEXT://%s%s\ncontroller.quorum.voters=1@127.0.0.1:%d\nlog.dirs=%s\n",
		k.broker, control, listeners, k.address, listeners, control, filepath.Join(k.dir, "data"))
	return os.WriteFile(k.properties(), []byte(properties+own+strings.Join(lines, "\n")+"\n"), 0o644)
}

// format makes the broker's data folder.
func (k *Kafka) format(ctx context.Context, java, jars string) error {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	// An id may not begin with a dash.
	cluster := strings.ReplaceAll(base64.RawURLEncoding.EncodeToString(id), "-", "_")
	return command(ctx, java, append(machine(jars), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", k.properties())...)
}

// kafkaAnswers asks a broker which requests it knows: it answers once it
// serves clients.
func kafkaAnswers(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	const apiVersions = 18
	request := binary.BigEndian.AppendUint32(nil, 10)
	request = binary.BigEndian.AppendUint16(request, apiVersions)
	request = append(request, 0, 0, 0, 0, 0, 1, 0xff, 0xff) // version 0, correlation 1, no client id
	if _, err := conn.Write(request); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 10))
	return err
}

// Address is where clients connect first.
func (k *Kafka) Address() string { return k.address }

// Broker is where the broker itself listens, beside whatever leads clients to
// it.
func (k *Kafka) Broker() string { return k.broker }

// Ours reports whether the broker was started here, so that it can be killed
// and paused.
func (k *Kafka) Ours() bool { return k.Process != nil }

// Close ends the broker at once and removes its data.
func (k *Kafka) Close() error {
	if k.Ours() {
		if err := k.Kill(); err != nil {
			return err
		}
	}
	if k.dir == "" {
		return nil
	}
	return os.RemoveAll(k.dir)
}
