package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	debeziumVersion = "3.6.1.Final"
	log4jVersion    = "2.25.4" // that of Kafka's own jars
)

// Connect is a worker of Kafka Connect with Debezium's connector of
// PostgreSQL. It keeps its connectors' offsets in a file, as a worker that
// stands alone does: what was sent since it last wrote them is sent again
// after a Kill.
type Connect struct {
	*Process

	dir string
	url string

	mu         sync.Mutex
	connectors map[string]map[string]string // what Put was given
}

// StartConnect starts a worker without connectors, for a broker. Settings are
// lines of its worker.properties.
func StartConnect(ctx context.Context, k *Kafka, settings ...string) (*Connect, error) {
	java, err := tool(ctx, "java", "default-jre-headless")
	if err != nil {
		return nil, fmt.Errorf("Kafka Connect: %w", err)
	}
	jars, err := connectJars(ctx)
	if err != nil {
		return nil, fmt.Errorf("Kafka Connect: %w", err)
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	c := &Connect{url: fmt.Sprintf("http://127.0.0.1:%d", port), connectors: map[string]map[string]string{}}
	if c.dir, err = os.MkdirTemp("", "freshet-connect-"); err != nil {
		return nil, err
	}
	if err = c.configure(k, settings); err == nil {
		c.Process = NewProcess(Program{
			Path: java,
			Args: append([]string{"-Dlog4j2.level=WARN"},
				append(machine(jars), "org.apache.kafka.connect.cli.ConnectStandalone", c.properties())...),
			Log:     filepath.Join(c.dir, "log"),
			Answers: func(ctx context.Context) error { return c.call(ctx, http.MethodGet, "/connectors", nil, nil) },
		})
		err = c.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func connectJars(ctx context.Context) (string, error) {
	return fetched("connect-"+kafkaVersion+"-debezium-"+debeziumVersion, func(dir string) error {
		return fromMaven(ctx, dir,
			artifact{"org.apache.kafka", "connect-runtime", kafkaVersion},
			artifact{"org.apache.kafka", "connect-json", kafkaVersion},
			artifact{"io.debezium", "debezium-api", debeziumVersion},
			artifact{"io.debezium", "debezium-connector-postgres", debeziumVersion},
			artifact{"org.apache.logging.log4j", "log4j-api", log4jVersion},
			artifact{"org.apache.logging.log4j", "log4j-core", log4jVersion},
			artifact{"org.apache.logging.log4j", "log4j-slf4j-impl", log4jVersion})
	})
}

// properties of every worker. Those of a test come after, and win. Offsets are
// written at once, or hardly ever, as a test likes.
const workerProperties = `
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
plugin.discovery=service_load
offset.flush.interval.ms=1000
topic.creation.enable=true
connector.client.config.override.policy=All
`

func (c *Connect) properties() string { return filepath.Join(c.dir, "worker.properties") }

func (c *Connect) configure(k *Kafka, settings []string) error {
	own := fmt.Sprintf("bootstrap.servers=%s\nlisteners=%s\noffset.storage.file.filename=%s\n",
		k.Address(), c.url, filepath.Join(c.dir, "offsets"))
	return os.WriteFile(c.properties(), []byte(workerProperties+own+strings.Join(settings, "\n")+"\n"), 0o644)
}

// Start starts the worker, and its connectors anew.
func (c *Connect) Start(ctx context.Context) error {
	if err := c.Process.Start(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	again := maps.Clone(c.connectors)
	c.mu.Unlock()
	for name, settings := range again {
		if err := c.put(ctx, name, settings); err != nil {
			return err
		}
	}
	for name := range again {
		if err := c.runs(ctx, name, ""); err != nil {
			return err
		}
	}
	return nil
}

// URL is where the worker's REST interface is.
func (c *Connect) URL() string { return c.url }

// Put makes a connector, or gives it other settings, and waits until its task
// runs. A task that has failed is an error with its reason.
func (c *Connect) Put(ctx context.Context, name string, settings map[string]string) error {
	c.mu.Lock()
	c.connectors[name] = maps.Clone(settings)
	c.mu.Unlock()
	if err := c.put(ctx, name, settings); err != nil {
		return err
	}
	return c.runs(ctx, name, "")
}

func (c *Connect) put(ctx context.Context, name string, settings map[string]string) error {
	return c.call(ctx, http.MethodPut, "/connectors/"+name+"/config", settings, nil)
}

// Remove ends a connector for good. Its slot stays.
func (c *Connect) Remove(ctx context.Context, name string) error {
	c.mu.Lock()
	delete(c.connectors, name)
	c.mu.Unlock()
	return c.call(ctx, http.MethodDelete, "/connectors/"+name, nil, nil)
}

// RestartTask lets a connector's task begin again, also one that has failed.
func (c *Connect) RestartTask(ctx context.Context, name string) error {
	_, was, err := c.TaskState(ctx, name)
	if err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodPost, "/connectors/"+name+"/tasks/0/restart", nil, nil); err != nil {
		return err
	}
	return c.runs(ctx, name, was)
}

// TaskState is what the worker says of a connector's task: RUNNING, FAILED and
// so on, and why; empty while there is none.
func (c *Connect) TaskState(ctx context.Context, name string) (state, why string, err error) {
	var status struct {
		Tasks []struct{ State, Trace string }
	}
	if err := c.call(ctx, http.MethodGet, "/connectors/"+name+"/status", nil, &status); err != nil || len(status.Tasks) == 0 {
		return "", "", err
	}
	return status.Tasks[0].State, status.Tasks[0].Trace, nil
}

// runs waits until a connector's task runs. was is why it had failed before, as
// the worker goes on to say for a while.
func (c *Connect) runs(ctx context.Context, name, was string) error {
	for {
		state, why, err := c.TaskState(ctx, name)
		switch {
		case state == "RUNNING":
			return nil
		case state == "FAILED" && why != was:
			return fmt.Errorf("the task of connector %s has failed: %s", name, why)
		case ctx.Err() != nil:
			return fmt.Errorf("the task of connector %s does not run: %w", name, errors.Join(ctx.Err(), err))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// call asks the worker's REST interface. An answer is decoded into out.
func (c *Connect) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Close = true // the worker may be killed at any time
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	case out != nil:
		return json.Unmarshal(text, out)
	}
	return nil
}

// Close ends the worker at once and removes what it has kept.
func (c *Connect) Close() error {
	if c.Process != nil {
		if err := c.Kill(); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.dir)
}

// Debezium returns the settings of a connector that ships tables of a server:
// those of every one here, by its name, and more after them, NAME=VALUE.
func Debezium(p *Postgres, name string, more ...string) map[string]string {
	settings := map[string]string{
		"connector.class":                   "io.debezium.connector.postgresql.PostgresConnector",
		"tasks.max":                         "1",
		"plugin.name":                       "pgoutput",
		"database.hostname":                 p.url.Hostname(),
		"database.port":                     p.url.Port(),
		"database.user":                     superuser,
		"database.dbname":                   strings.TrimPrefix(p.url.Path, "/"),
		"topic.prefix":                      name,
		"slot.name":                         name,
		"publication.name":                  name,
		"publication.autocreate.mode":       "filtered",
		"snapshot.mode":                     "no_data",
		"topic.creation.default.partitions": "1",
		"topic.creation.default.replication.factor": "1",
	}
	for _, m := range more {
		key, value, _ := strings.Cut(m, "=")
		settings[key] = value
	}
	return settings
}
