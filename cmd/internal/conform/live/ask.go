package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/client"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/run"
	"github.com/freshet-cache/freshet/cmd/internal/pause"
)

const (
	aReply    = 10 * time.Second       // how long a node may take to answer
	untilWell = 10 * time.Second       // and until it is well
	askAgain  = 100 * time.Millisecond // how often that is asked
)

// ask asks every node whether a run is possible. It changes nothing.
func (d *Deployment) ask(ctx context.Context) error {
	var errs []error
	versions := map[string][]string{}
	for i := range d.opts.Config.Conform.Nodes {
		n := &d.opts.Config.Conform.Nodes[i]
		version, err := d.askNode(ctx, n)
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", n.Name, err))
			continue
		}
		versions[version] = append(versions[version], n.Name)
	}
	if len(versions) > 1 && len(errs) == 0 {
		errs = append(errs, mixed(versions))
	}
	return errors.Join(errs...)
}

// mixed says which nodes run which version.
func mixed(versions map[string][]string) error {
	var out []string
	for version, nodes := range versions {
		out = append(out, fmt.Sprintf("%s on %s", version, strings.Join(nodes, ", ")))
	}
	slices.Sort(out)
	return fmt.Errorf("the nodes are of several versions: %s; bring them to one, or name those of one in conform.nodes", strings.Join(out, "; "))
}

func (d *Deployment) askNode(ctx context.Context, n *config.ConformNode) (version string, err error) {
	metrics, err := run.Get(ctx, n.Admin, "/metrics")
	if err != nil {
		return "", fmt.Errorf("its admin port does not answer: %w: start the node, or correct conform.nodes[].admin", err)
	}
	_, rest, ok := strings.Cut(metrics, `freshet_build_info{version="`)
	if !ok {
		return "", fmt.Errorf("%s is no admin port of a node: correct conform.nodes[].admin", n.Admin)
	}
	version, _, _ = strings.Cut(rest, `"`)
	c, err := d.dial(ctx, n)
	if err != nil {
		return "", err
	}
	defer c.Close()
	for i := range d.useCases {
		if err := askUseCase(c, &d.useCases[i]); err != nil {
			return "", err
		}
	}
	return version, wait(ctx, n, untilWell)
}

// dial connects to a node, and says who this is.
func (d *Deployment) dial(ctx context.Context, n *config.ConformNode) (*client.Client, error) {
	c, err := client.Dial(ctx, n.Listen, aReply)
	if err != nil {
		return nil, fmt.Errorf("it does not answer: %w: start it, or correct conform.nodes[].listen", err)
	}
	if password := d.opts.Config.Conform.Password.Value(); password != "" {
		user := d.opts.Config.Conform.User
		if err := c.Login(user, password); err != nil {
			c.Close()
			return nil, fmt.Errorf("it does not let user %q in: %w: correct conform.user or conform.password", user, err)
		}
	}
	return c, nil
}

// askUseCase asks whether a node has a use case under the same bound.
func askUseCase(c *client.Client, u *load.UseCase) error {
	r, err := c.Do("FRESHET.EXPLAIN", u.Key(0))
	var refused client.Refusal
	switch {
	case err == nil:
	case !errors.As(err, &refused):
		return fmt.Errorf("it is no node that speaks as one: %w: correct conform.nodes[].listen", err)
	case strings.HasPrefix(string(refused), "NOAUTH"):
		return fmt.Errorf("it has users: give conform.user and conform.password")
	case strings.HasPrefix(string(refused), "NOPERM"):
		return fmt.Errorf("%w, which is %s: give the user of conform.user the rights to read and write use case %s", err, u.Key(0), u.Name)
	case strings.Contains(string(refused), "no such use case"):
		return fmt.Errorf("it has no use case %s: give it that of the configuration, and start it again", u.Name)
	default:
		return fmt.Errorf("it answers to FRESHET.EXPLAIN %s: %w: correct conform.nodes[].listen, or its use case %s", u.Key(0), err, u.Name)
	}
	for i := 0; i+1 < len(r.List); i += 2 {
		if r.List[i].Text == "bound" && r.List[i+1].Text != u.Bound.String() {
			return fmt.Errorf("its use case %s has a bound of %s, and the configuration says %s: make them one, and start the node again", u.Name, r.List[i+1].Text, u.Bound)
		}
	}
	return nil
}

// wait waits until a node has nothing to complain about: that its stream goes
// on, that its database answers.
func wait(ctx context.Context, n *config.ConformNode, most time.Duration) error {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	last := "it does not answer"
	for {
		said, err := run.Get(within, n.Admin, "/readyz")
		said = strings.ReplaceAll(strings.TrimSpace(said), "\n", "; ")
		switch {
		case err == nil && said == "ready":
			return nil
		case said != "":
			last = said
		}
		if !pause.For(within, askAgain) {
			return cmp.Or(ctx.Err(), fmt.Errorf("its /readyz: %s: mend that first", last))
		}
	}
}
