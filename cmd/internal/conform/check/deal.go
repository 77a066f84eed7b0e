package check

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// A part of the history is about this large, of which only the writes and the
// fills are held in memory at once; there are at most maxParts files open.
const (
	partBytes = 32 << 20
	maxParts  = 128
	// maxLine bounds a line: keys have at most 512 bytes.
	maxLine = 64 << 10

	sorting = "sort the history, which takes as much room again"
)

// dealer deals the lines of a history to parts by their key, unread, and keeps
// the records that are of no key.
type dealer struct {
	seed    maphash.Seed
	parts   []*partFile
	records records
	decoder *history.Decoder
}

// partFile is one part on disk: its writes and fills in front of its reads
// would need a sort, so they are two files.
type partFile struct {
	made, read *spill
}

// spill is a file that is written once and read once.
type spill struct {
	file *os.File
	*bufio.Writer
}

func newSpill(folder, name string) (*spill, error) {
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		return nil, history.Advise(sorting, err)
	}
	return &spill{f, bufio.NewWriterSize(f, 32<<10)}, nil
}

func (s *spill) close() error {
	if err := errors.Join(s.Flush(), s.file.Close()); err != nil {
		return history.Advise(sorting, err)
	}
	return nil
}

// deal deals files of so many bytes together.
func deal(folder string, size int64, paths []string) (*dealer, error) {
	d, err := newDealer(folder, size)
	for _, path := range paths {
		if err == nil {
			err = d.file(path)
		}
	}
	if closed := d.close(); err == nil { // else that is the reason
		err = closed
	}
	return d, err
}

// newDealer makes the files for a history of so many bytes.
func newDealer(folder string, size int64) (*dealer, error) {
	d := &dealer{seed: maphash.MakeSeed(), decoder: history.NewDecoder()}
	for i := range min(1+size/partBytes, maxParts) {
		made, err := newSpill(folder, fmt.Sprintf("made-%d", i))
		if err != nil {
			return d, err
		}
		read, err := newSpill(folder, fmt.Sprintf("read-%d", i))
		if err != nil {
			return d, errors.Join(err, made.close())
		}
		d.parts = append(d.parts, &partFile{made, read})
	}
	return d, nil
}

func (d *dealer) close() error {
	var err error
	for _, p := range d.parts {
		err = errors.Join(err, p.made.close(), p.read.close())
	}
	return err
}

// file deals one file. Its last line may be cut off.
func (d *dealer) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			err = &FormatError{What: fmt.Sprintf("a line of it has at most %d bytes", maxLine)}
		case err == nil:
			err = d.line(line)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
	}
}

func (d *dealer) line(line []byte) error {
	kind, rest, ok := history.Kind(line)
	if !ok {
		return &FormatError{What: fmt.Sprintf("%.60q is no line of one", line)}
	}
	key, ok := history.Key(rest)
	if !ok {
		record, err := d.decoder.Line(line[:len(line)-1])
		if err == nil {
			d.records.add(record)
		}
		return err
	}
	p := d.parts[maphash.Bytes(d.seed, key)%uint64(len(d.parts))]
	to := p.made
	if kind == history.KindRead {
		to = p.read
	}
	if _, err := to.Write(line); err != nil {
		return history.Advise(sorting, err)
	}
	return nil
}
