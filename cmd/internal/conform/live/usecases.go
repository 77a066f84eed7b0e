package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/config"
	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/cmd/internal/conform/load"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
)

// UseCases is what nodes and relay have to be configured with for a run: each
// of them takes another path through a node.
func UseCases() string {
	return strings.ReplaceAll(`use_cases:
  # The row as JSON, its value by its id and by its alias, and all of it once
  # more in so little memory that entries are pushed out all the time. Set the
  # bounds that are promised to others.
  - {name: conform-row, table: ROWS, bound: 1s}
  - {name: conform-value, table: ROWS, column: val, bound: 250ms}
  - {name: conform-alias, table: ROWS, key: [alias], column: val, bound: 250ms}
  - {name: conform-small, table: ROWS, column: val, bound: 2s, max_bytes: 1MiB}
`, "ROWS", table.Rows)
}

var errNoUseCases = errors.New("the configuration has no use case over table " + table.Rows +
	": add those of --print-use-cases to that of the relay and of every node, run in the database what --print-sql says, and start them again")

// chosen are the use cases of a run.
func chosen(c *config.Config) ([]load.UseCase, error) {
	var out []load.UseCase
	for i := range c.UseCases {
		u := &c.UseCases[i]
		over := u.Table == table.Rows || u.Table == "public."+table.Rows
		named := slices.Contains(c.Conform.UseCases, u.Name)
		switch {
		case named && !over:
			return nil, fmt.Errorf("use case %q is over table %s: a run has its own, %s", u.Name, u.Table, table.Rows)
		case !over || !named && len(c.Conform.UseCases) > 0:
			continue
		}
		one, err := understood(u)
		one.Padded = c.Source.Postgres.URL.Given()
		if err != nil {
			return nil, fmt.Errorf("use case %q: %w, or leave it out of conform.use_cases", u.Name, err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, errNoUseCases
	}
	return out, nil
}

// understood says how a use case is read, or what a run cannot do with it.
func understood(u *config.UseCase) (load.UseCase, error) {
	out := load.UseCase{
		UseCase:  history.UseCase{Name: u.Name, Bound: time.Duration(u.Bound), MaxStale: time.Duration(u.MaxStale)},
		ByAlias:  slices.Equal(u.Key, []string{table.Alias}),
		WholeRow: u.Column == "",
		Writable: !u.ReadOnly && u.Column == table.Value && len(u.Key) == 0,
	}
	switch {
	case !out.ByAlias && len(u.Key) > 0:
		return out, fmt.Errorf("its key is %v: leave it out, which is the id, or make it [%s]", u.Key, table.Alias)
	case !out.WholeRow && u.Column != table.Value:
		return out, fmt.Errorf("it gives column %q: make it %s, or none for the row", u.Column, table.Value)
	case u.ReadFrom != "primary":
		return out, errors.New("it is read from replicas, which keep neither tokens nor sessions, and may show what the primary does not yet: read the primary")
	case u.Bound == 0:
		return out, errors.New("its bound is 0s, under which nothing is answered from memory: give it one")
	}
	return out, nil
}
