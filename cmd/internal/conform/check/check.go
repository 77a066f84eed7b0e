package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cache/freshet/cmd/internal/conform/history"
)

// Files judges the history in some files. It makes a folder in scratch that
// takes as much room as they do, and removes it.
func Files(ctx context.Context, scratch string, paths ...string) (*Verdict, error) {
	var size int64
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		size += info.Size()
	}
	folder, err := os.MkdirTemp(scratch, "freshet-check-")
	if err != nil {
		return nil, history.Advise(sorting, err)
	}
	defer os.RemoveAll(folder)
	d, err := deal(folder, size, paths)
	if err != nil {
		return nil, err
	}
	w, err := d.records.world()
	if err != nil {
		return nil, err
	}
	t, err := w.judge(ctx, d.parts)
	if err != nil {
		return nil, err
	}
	return t.verdict(), nil
}

// judge judges all parts, as many at once as there are processors.
func (w *world) judge(ctx context.Context, parts []*partFile) (*tally, error) {
	workers := min(runtime.GOMAXPROCS(0), len(parts))
	queue := make(chan *partFile, len(parts))
	for _, p := range parts {
		queue <- p
	}
	close(queue)
	tallies := make([]*tally, workers)
	g, ctx := errgroup.WithContext(ctx)
	for i := range tallies {
		tallies[i] = newTally(w)
		g.Go(func() error {
			for p := range queue {
				if err := w.judgePart(ctx, tallies[i], p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, t := range tallies[1:] {
		tallies[0].merge(t)
	}
	return tallies[0], nil
}

// judgePart reads what was written to the keys of a part and then, one by one,
// what was read of them.
func (w *world) judgePart(ctx context.Context, t *tally, p *partFile) error {
	decoder, all := history.NewDecoder(), newWrites()
	var fills []history.Fill
	err := eachLine(ctx, p.made.file.Name(), decoder, func(record any) error {
		switch r := record.(type) {
		case *history.Write:
			t.countWrite(r)
			all.add(r)
		case *history.Fill:
			fills = append(fills, *r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	j := &judge{tally: t}
	if j.part, err = all.part(w); err != nil {
		return err
	}
	for key := range j.part.lines {
		u, err := w.caseOf(key)
		if err != nil {
			return err
		}
		t.causes[u.id].keys++
	}
	for i := range fills {
		if err := j.fill(&fills[i]); err != nil {
			return err
		}
	}
	j.oneAtATime()
	return eachLine(ctx, p.read.file.Name(), decoder, func(record any) error {
		r, ok := record.(*history.Read)
		if !ok {
			return &FormatError{What: fmt.Sprintf("%T with a key", record)}
		}
		return j.read(r)
	})
}

func eachLine(ctx context.Context, path string, decoder *history.Decoder, do func(record any) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxLine)
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		record, err := decoder.Line(line[:len(line)-1])
		if err == nil {
			err = do(record)
		}
		if err == nil && n%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}
