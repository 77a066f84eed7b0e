package part

import (
	"errors"
	"os"
	"time"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/source/clock"
)

// fills is the history of what one life of a node asks of its source, in a
// file of its own.
type fills struct {
	of     history.Fill // node and life
	file   *os.File
	writer *history.Writer
	ended  chan error
	log    chan *history.Log // whoever has it writes
	handed time.Time         // when it was last handed over; his too
}

// handOver is how much of a node's fills is lost when it is killed.
const handOver = 50 * time.Millisecond

func openFills(path, node string, life uint64) (*fills, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // an earlier run may have left one
	if err != nil {
		return nil, err
	}
	f := &fills{
		of:   history.Fill{Node: node, Life: life},
		file: file, writer: history.NewWriter(file),
		ended: make(chan error, 1), log: make(chan *history.Log, 1),
	}
	f.log <- f.writer.Log()
	go func() { f.ended <- f.writer.Run() }()
	return f, nil
}

func (f *fills) close() error {
	log := <-f.log
	err := log.Flush()
	f.writer.Close()
	return errors.Join(err, <-f.ended, f.file.Close())
}

// note writes down one call to the source. An error is told by close.
func (f *fills) note(reqs []proxy.Request, results []proxy.Result, sent history.Time) {
	one := f.of
	one.Sent, one.Ended = sent, history.Time(clock.Boottime())
	log := <-f.log
	defer func() { f.log <- log }()
	for i := range reqs {
		one.Key, one.Failed = string(reqs[i].Key.Text), results[i].Err != nil
		_ = log.Fill(&one)
	}
	if time.Since(f.handed) > handOver {
		_ = log.Flush()
		f.handed = time.Now()
	}
}
