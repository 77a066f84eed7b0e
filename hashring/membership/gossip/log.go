package gossip

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// lines passes on what memberlist logs, a line at a time, and tells where it
// speaks of messages that the key does not open: it says so nowhere else.
type lines struct {
	log     *slog.Logger
	foreign func()
}

// foreign are the words by which memberlist speaks of another key, or none.
var foreign = []string{"Decrypt packet failed", "could decrypt", "state is encrypted", "state is not encrypted"}

func (l lines) Write(line []byte) (int, error) {
	mark, said, _ := strings.Cut(strings.TrimSpace(string(line)), "] memberlist: ")
	level := slog.LevelDebug
	switch {
	case slices.ContainsFunc(foreign, func(words string) bool { return strings.Contains(said, words) }):
		l.foreign() // which tells it as a problem
	case strings.HasPrefix(mark, "[ERR"):
		level = slog.LevelWarn
	case mark == "[WARN":
		level = slog.LevelInfo
	}
	l.log.Log(context.Background(), level, "gossip", "said", said)
	return len(line), nil
}
