package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// get reads a page. It has its own connections, which end with it.
func get(ctx context.Context, url string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, string(data), err
}

// endpoint asks an admin port.
func endpoint(ctx context.Context, address string) Endpoint {
	e := Endpoint{Address: address}
	status, body, err := get(ctx, "http://"+address+"/readyz")
	if err != nil {
		e.Err = fmt.Errorf("does not answer: %w", err)
		return e
	}
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if word := lines[0]; word != "ready" && word != "ready, degraded" && word != "not ready" {
		e.Err = fmt.Errorf("is no admin port of Freshet: /readyz answers with status %d", status)
		return e
	}
	e.Ready, e.Problems = status == http.StatusOK, lines[1:]
	status, body, err = get(ctx, "http://"+address+"/metrics")
	if err != nil || status != http.StatusOK {
		e.Err = fmt.Errorf("/metrics answers with status %d, %v", status, err)
	}
	e.Metrics = parseMetrics(body)
	return e
}

func (g *gatherer) nodes(ctx context.Context) {
	addresses := g.options.Nodes
	if len(addresses) == 0 {
		addresses = []string{g.facts.Config.Node.Admin}
	}
	g.facts.Nodes = endpoints(ctx, addresses)
}

func (g *gatherer) relays(ctx context.Context) {
	addresses := g.options.Relays
	if len(addresses) == 0 && !g.facts.debezium() {
		addresses = []string{g.facts.Config.Relay.Admin}
	}
	g.facts.Relays = endpoints(ctx, addresses)
}

// endpoints asks admin ports, but those that nobody knows.
func endpoints(ctx context.Context, addresses []string) []Endpoint {
	addresses = slices.DeleteFunc(slices.Clone(addresses), anyPort)
	out := make([]Endpoint, len(addresses))
	var all sync.WaitGroup
	for i, address := range addresses {
		all.Go(func() { out[i] = endpoint(ctx, address) })
	}
	all.Wait()
	return out
}

// anyPort reports whether an address leaves the port to the system, so that
// nobody knows it.
func anyPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err != nil || port == "0"
}

// connectors reads the settings of the connectors that are named.
func (g *gatherer) connectors(ctx context.Context) {
	f := g.facts
	switch {
	case g.options.Connector != "":
		f.Connectors, f.Connect = connectorIn(g.options.Connector)
	case g.options.Connect != "":
		f.Connectors, f.Connect = connectorsAt(ctx, g.options.Connect)
		f.Connectors = concerned(f.Connectors, f.Config.Stream.Debezium.Topics)
	}
}

// connectorIn reads the settings of a connector of Debezium from a file.
func connectorIn(file string) ([]Connector, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: correct --connector", err)
	}
	c, err := parseConnector(file, data)
	if err == nil && !c.isDebezium() {
		err = fmt.Errorf("%s has no settings of a connector of Debezium: its connector.class is %q: correct --connector", file, c.Config["connector.class"])
	}
	if err != nil {
		return nil, err
	}
	return []Connector{c}, nil
}

// connectorsAt asks Kafka Connect for its connectors of Debezium. What it
// returns says where that was without the password that the URL may have.
func connectorsAt(ctx context.Context, text string) ([]Connector, error) {
	to, err := url.Parse(text)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, errors.New("--connect is no URL: spell it http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT with %XX for what is no letter or digit in them")
	}
	at := strings.TrimRight(to.Redacted(), "/")
	status, body, err := get(ctx, strings.TrimRight(text, "/")+"/connectors?expand=info&expand=status")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: start Kafka Connect, or correct --connect", at, err)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%s answers with status %d: name a user who may read its connectors: --connect %s://USER:PASSWORD@%s", at, status, to.Scheme, to.Host)
	case status == http.StatusConflict, status == http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%s answers with status %d: its workers are about to share their work anew: ask again", at, status)
	}
	var all map[string]struct {
		Info   struct{ Config map[string]string }
		Status struct {
			Connector struct{ State, Trace string }
			Tasks     []struct{ State, Trace string }
		}
	}
	if err := json.Unmarshal([]byte(body), &all); status != http.StatusOK || err != nil {
		return nil, fmt.Errorf("%s answers with status %d, and is not the REST interface of Kafka Connect", at, status)
	}
	var out []Connector
	for name, is := range all {
		c := Connector{Name: name, From: at, Config: is.Info.Config, State: is.Status.Connector.State, Trace: firstLine(is.Status.Connector.Trace)}
		for _, t := range is.Status.Tasks {
			if t.State != "RUNNING" {
				c.State, c.Trace = t.State, firstLine(t.Trace)
			}
		}
		if c.isDebezium() {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Connector) int { return strings.Compare(a.Name, b.Name) })
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no connector of Debezium", at)
	}
	return out, nil
}

// concerned leaves out connectors that plainly write other topics, unless none
// would be left.
func concerned(all []Connector, topics []string) []Connector {
	ours := slices.DeleteFunc(slices.Clone(all), func(c Connector) bool {
		return !slices.ContainsFunc(topics, func(topic string) bool {
			if strings.HasPrefix(topic, c.Config["topic.prefix"]+".") {
				return true
			}
			return slices.ContainsFunc(c.transforms(), func(name string) bool { return c.transform(name, "replacement") == topic })
		})
	})
	if len(ours) == 0 {
		return all
	}
	return ours
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
