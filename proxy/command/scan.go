package command

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

const (
	// mostCount bounds a page: COUNT is a hint.
	mostCount = 1000
	// mostCases bounds the use cases without keys that one SCAN passes over.
	mostCases = 16
)

// filter is what SCAN and HSCAN are asked for beyond the cursor.
type filter struct {
	match []byte // nil: everything
	count int
	kind  string // of values; "": any
}

func (f *filter) takes(name []byte) bool { return f.match == nil || matches(f.match, name) }

// scanOptions: [MATCH pattern] [COUNT count] [TYPE type], the last only where
// keys are listed.
func scanOptions(options [][]byte, keys bool) (f filter, err error) {
	f.count = 10
	for len(options) > 0 {
		if len(options) == 1 {
			return f, errSyntax
		}
		value := options[1]
		switch word := strings.ToLower(string(options[0])); {
		case word == "match" && len(value) > maxPattern:
			return f, errPattern
		case word == "match":
			f.match = value
		case word == "type" && keys:
			f.kind = strings.ToLower(string(value))
		case word == "count":
			n, err := integer(value)
			if err != nil {
				return f, errNoInteger
			}
			if n < 1 {
				return f, errSyntax
			}
			f.count = int(min(n, mostCount))
		default:
			return f, errSyntax
		}
		options = options[2:]
	}
	return f, nil
}

func parseCursor(word []byte) (uint64, error) {
	id, err := strconv.ParseUint(string(word), 10, 64)
	if err != nil {
		return 0, errNoCursor
	}
	return id, nil
}

// listing is a SCAN under way.
type listing struct {
	from  uint64 // its cursor
	at    place
	cases []*proxy.UseCase // to list, the present one first
	filter

	keys [][]byte
	next uint64
}

// scan: SCAN cursor [MATCH pattern] [COUNT count] [TYPE type].
func (s *Session) scan(args [][]byte) {
	c := s.call(lists, (*Session).answerScan)
	l, err := s.listing(args)
	if err != nil {
		s.drop(c, err)
		return
	}
	s.pending.listing = l
}

func (s *Session) listing(args [][]byte) (l *listing, err error) {
	l = &listing{}
	if l.from, err = parseCursor(args[1]); err != nil {
		return nil, err
	}
	if l.filter, err = scanOptions(args[2:], true); err != nil {
		return nil, err
	}
	if s.all.opts.Scanner == nil {
		return nil, errNoScanner
	}
	known := l.from == 0
	if !known {
		l.at, known = s.all.cursors.find(l.from)
	}
	if !known {
		return nil, errOldCursor
	}
	for _, u := range s.all.catalog.All() {
		if (l.at.useCase == nil || u.ID >= l.at.useCase.ID) && l.wants(u) && s.rights.Of(u) >= proxy.MayRead {
			l.cases = append(l.cases, u)
		}
	}
	return l, nil
}

// wants reports whether a use case may have keys that are asked for.
func (l *listing) wants(u *proxy.UseCase) bool {
	if l.kind != "" && l.kind != typeName(u) {
		return false
	}
	name, _, whole := bytes.Cut(l.match, []byte(":"))
	return !whole || bytes.ContainsAny(name, `*?[\`) || string(name) == u.Name
}

// list asks the source for the next page. It passes over use cases without
// keys, but not over many at once: a page may be empty.
func (s *Session) list(ctx context.Context, l *listing) error {
	for n, u := range l.cases {
		at := place{useCase: u}
		if l.at.useCase == u {
			at = l.at
		}
		if n == mostCases {
			l.next = s.all.cursors.open(l.from, at)
			return nil
		}
		keys, err := s.all.opts.Scanner.Scan(ctx, u, at.after, l.count)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			continue
		}
		for _, k := range keys {
			if len(k) <= proxy.MaxKeyBytes && l.takes(k) {
				l.keys = append(l.keys, k)
			}
		}
		at.after = keys[len(keys)-1]
		l.next = s.all.cursors.open(l.from, at)
		return nil
	}
	return nil
}

func (s *Session) answerScan(*call) bool {
	l := s.pending.listing
	s.w.Array(2)
	s.w.BulkString(strconv.FormatUint(l.next, 10))
	s.w.Array(len(l.keys))
	for _, k := range l.keys {
		s.w.Bulk(k)
	}
	return true
}
