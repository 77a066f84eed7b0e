package node

import "github.com/freshet-cache/freshet/cmd/internal/config"

// maxClients returns how many clients a node may take with a limit on open
// descriptors. Some are kept for what the clients are served from: if they
// could take the last one, neither the database nor Kafka could be opened
// again after an error, and nobody could ask the admin port why.
func maxClients(c *config.Config, descriptors uint64) int {
	const (
		base = 64 // Kafka's connections, the admin port's, the runtime's
		file = 3  // a connection to the database: the file, its log, its index
	)
	kept := base + file*uint64(c.Source.SQLite.Readers+2) // readers, the writer, and one that looks at the catalog
	if descriptors <= kept {
		return 1
	}
	return int(min(uint64(c.Node.MaxClients), descriptors-kept))
}
