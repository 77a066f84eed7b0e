package history

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// chunkBytes is how much a Log gathers before it hands it over, and
// queueChunks how many chunks may wait for the disk: together 8 MiB.
const (
	chunkBytes  = 64 << 10
	queueChunks = 128
)

// Writer writes the records of many Logs into one stream.
type Writer struct {
	out    io.Writer
	chunks chan []byte
	failed chan struct{} // closed after err is set
	err    error
}

// NewWriter returns a Writer to out. It writes nothing before Run.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: out, chunks: make(chan []byte, queueChunks), failed: make(chan struct{})}
}

// Run writes until Close, or until out fails: then it returns that error, and
// so does every Log.
func (w *Writer) Run() error {
	for chunk := range w.chunks {
		if _, err := w.out.Write(chunk); err != nil {
			w.err = Advise("write the history", err)
			close(w.failed)
			return w.err
		}
	}
	return nil
}

// Close ends Run once all that was handed over is written. Every Log must have
// been closed before.
func (w *Writer) Close() { close(w.chunks) }

// Advise says what was being done in the folder of a run when err came of it,
// and what to do where that lacks room.
func Advise(doing string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%s: the disk is full, or files may not be that large (ulimit -f); make room, or name another folder with --out: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Log takes the records of one goroutine, and keeps their order.
type Log struct {
	w   *Writer
	buf []byte
}

// Log returns a new Log.
func (w *Writer) Log() *Log { return &Log{w: w} }

// Read records r. Its error, like that of the other methods, is that of the
// stream.
func (l *Log) Read(r *Read) error {
	l.buf = appendRead(l.buf, r)
	return l.handOver(chunkBytes)
}

// Write records w.
func (l *Log) Write(w *Write) error {
	l.buf = appendWrite(l.buf, w)
	return l.handOver(chunkBytes)
}

// Fill records f.
func (l *Log) Fill(f *Fill) error {
	l.buf = appendFill(l.buf, f)
	return l.handOver(chunkBytes)
}

// Add records one of the other kinds: a pointer to a Run, Truncate, Fault,
// Clock, Counters, Lag or End.
func (l *Log) Add(record any) error {
	kind := kindOf(record)
	if kind == "" {
		return fmt.Errorf("write the history: %T is no record of one", record)
	}
	var err error
	if l.buf, err = appendOther(l.buf, kind, record); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return l.handOver(chunkBytes)
}

// Flush hands over what was recorded so far.
func (l *Log) Flush() error { return l.handOver(1) }

// handOver passes the buffer on if it has grown to least bytes.
func (l *Log) handOver(least int) error {
	if len(l.buf) < least {
		return nil
	}
	select {
	case <-l.w.failed:
		return l.w.err
	default:
	}
	select {
	case l.w.chunks <- l.buf:
		l.buf = make([]byte, 0, chunkBytes+chunkBytes/8)
		return nil
	case <-l.w.failed:
		return l.w.err
	}
}
