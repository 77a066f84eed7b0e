package e2e

import (
	"testing"

	"github.com/freshet-cache/freshet/cmd/internal/conform/table"
	"github.com/freshet-cache/freshet/cmd/internal/conform/table/tabletest"
	"github.com/freshet-cache/freshet/cmd/internal/stack"
	"github.com/freshet-cache/freshet/cmd/internal/stack/stacktest"
)

func TestRealConformTable(t *testing.T) {
	stacktest.Need(t)
	tabletest.Run(t, &table.Postgres{URL: stacktest.Postgres(t, stack.PG15, "deadlock_timeout = '20ms'").URL("", "")})
}
