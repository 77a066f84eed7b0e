package command

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/freshet-cache/freshet/proxy"
)

// guarantees are what a connection asks of all its reads.
type guarantees struct {
	bound   proxy.Freshness // MaxStale or Strong, for reads that say neither; zero: the use case's bound
	token   proxy.Time      // of the last write, and of whatever raised it; 0: none
	floor   proxy.Time      // the token that was given: reads carry it without a session, too
	session bool            // reads carry the token and raise it
	proof   bool            // replies carry their proof as attributes
}

// of is what a read that asks for f gets.
func (g *guarantees) of(f proxy.Freshness) proxy.Freshness {
	if f.MaxStale == 0 && !f.Strong {
		f.MaxStale, f.Strong = g.bound.MaxStale, g.bound.Strong
	}
	f.Token = max(f.Token, g.floor) // that of a session: see loadPiece
	return f
}

// optionMark begins the options behind a key or a connection's name. In a key
// a '%' is only ever followed by 3A or 25.
var optionMark = []byte("%?")

// wish resolves the text of a key to read, and the options behind it:
//
//	users:42%?maxstale=500&token=1700000000000000000
func (s *Session) wish(text []byte) (proxy.Key, proxy.Freshness, error) {
	mark := bytes.IndexByte(text, '%')
	if mark >= 0 {
		mark = bytes.Index(text, optionMark)
	}
	if mark < 0 {
		key, err := s.key(text)
		return key, proxy.Freshness{}, err
	}
	key, err := s.key(text[:mark])
	if err != nil {
		return key, proxy.Freshness{}, err
	}
	f, err := keyOptions(text[mark+len(optionMark):])
	return key, f, err
}

// keyOptions parses what stands behind the mark of a key.
func keyOptions(text []byte) (f proxy.Freshness, err error) {
	for more := true; more; {
		var option []byte
		var wish proxy.Freshness
		option, text, more = bytes.Cut(text, []byte("&"))
		name, value, valued := bytes.Cut(option, []byte("="))
		switch {
		case string(name) == "strong" && !valued:
			wish.Strong = true
		case string(name) == "maxstale":
			wish, err = maxStale(value)
		case string(name) == "token":
			wish, err = atToken(value)
		default:
			err = errKeyOption
		}
		if err != nil {
			return proxy.Freshness{}, err
		}
		f = both(f, wish)
	}
	return f, nil
}

// named is g with the options behind a connection's name:
//
//	app%?session&maxstale=500
//
// A name without options changes nothing.
func (g guarantees) named(name []byte) (guarantees, error) {
	_, options, more := bytes.Cut(name, optionMark)
	for more {
		var option []byte
		var err error
		option, options, more = bytes.Cut(options, []byte("&"))
		value, timed := bytes.CutPrefix(option, []byte("maxstale="))
		switch {
		case string(option) == "session":
			g.session = true
		case string(option) == "strong":
			g.bound = proxy.Freshness{Strong: true}
		case timed:
			g.bound, err = maxStale(value)
		default:
			err = errNameOption
		}
		if err != nil {
			return g, err
		}
	}
	return g, nil
}

// maxStale is a bound of that many milliseconds. No staleness at all is what
// STRONG says.
func maxStale(text []byte) (proxy.Freshness, error) {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return proxy.Freshness{}, errMaxStale
	}
	return proxy.Freshness{MaxStale: time.Duration(ms) * time.Millisecond, Strong: ms == 0}, nil
}

func atToken(text []byte) (proxy.Freshness, error) {
	t, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || t < 0 {
		return proxy.Freshness{}, errToken
	}
	return proxy.Freshness{Token: proxy.Time(t)}, nil
}

// both asks for what a and b ask for.
func both(a, b proxy.Freshness) proxy.Freshness {
	if a.MaxStale == 0 || b.MaxStale != 0 && b.MaxStale < a.MaxStale {
		a.MaxStale = b.MaxStale
	}
	a.Strong = a.Strong || b.Strong
	a.Token = max(a.Token, b.Token)
	return a
}
