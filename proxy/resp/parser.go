package resp

import (
	"cmp"
	"fmt"
)

// Limits bound one request. The zero value of a field means its default.
type Limits struct {
	Args         int // arguments of a request; default 1 Mi, as Redis had it for long
	BulkBytes    int // one argument; default 32 MiB
	InlineBytes  int // an inline request's line; default 64 KiB, as in Redis
	RequestBytes int // a request as a whole, which its reader must buffer; default 64 MiB

	// Of a connection that has not said who it is (see [Parser.Restrict]).
	StrangerArgs        int // default 10, as in Redis
	StrangerBulkBytes   int // default 16 KiB, as in Redis
	StrangerInlineBytes int // default 16 KiB
}

// WithDefaults returns the limits with every zero field filled in.
func (l Limits) WithDefaults() Limits {
	l.Args = cmp.Or(l.Args, 1<<20)
	l.BulkBytes = cmp.Or(l.BulkBytes, 32<<20)
	l.InlineBytes = cmp.Or(l.InlineBytes, 64<<10)
	l.RequestBytes = cmp.Or(l.RequestBytes, 64<<20)
	l.StrangerArgs = cmp.Or(l.StrangerArgs, 10)
	l.StrangerBulkBytes = cmp.Or(l.StrangerBulkBytes, 16<<10)
	l.StrangerInlineBytes = cmp.Or(l.StrangerInlineBytes, 16<<10)
	return l
}

// ProtocolError is returned when the bytes are no request. The connection
// cannot go on after it; its text is what the client is told.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

const (
	errMultibulk         ProtocolError = "invalid multibulk length"
	errBulk              ProtocolError = "invalid bulk length"
	errStrangerMultibulk ProtocolError = "unauthenticated multibulk length"
	errStrangerBulk      ProtocolError = "unauthenticated bulk length"
	errInlineLong        ProtocolError = "too big inline request"
	errQuotes            ProtocolError = "unbalanced quotes in request"
	errNUL               ProtocolError = "NUL in an inline request"
	errRequest           ProtocolError = "too big request"
)

// keepArgs is how many arguments' room outlives a request: an MGET of 100,000
// keys must not stay with its connection.
const keepArgs = 1024

// span is where an argument lies in the request. Offsets, since the buffer may
// move while a request is incomplete.
type span struct{ at, n int }

// Parser finds requests in a stream of bytes.
type Parser struct {
	limits   Limits
	stranger bool // the limits of strangers hold, too

	left  int    // arguments still to come of the request begun; 0: none is begun
	bulk  int    // length of the argument announced; -1: none is
	at    int    // offset behind what is understood of the request begun
	seen  int    // an inline request's bytes known to hold no line end
	spans []span // the arguments understood
	args  [][]byte
}

// NewParser returns a parser at the beginning of a stream.
func NewParser(limits Limits) *Parser {
	return &Parser{limits: limits.WithDefaults(), bulk: -1}
}

// Restrict says whether the limits of strangers hold for the requests from here
// on. They do not at first.
func (p *Parser) Restrict(stranger bool) { p.stranger = stranger }

// Next returns the arguments of the first request in buf, and the number of
// bytes up to its end. No arguments mean that it is not complete: the caller
// drops the n bytes, which hold no request, and calls again once more have
// come, with buf beginning at the same byte of the stream.
func (p *Parser) Next(buf []byte) (args [][]byte, n int, err error) {
	for {
		args, size, err := p.request(buf[n:])
		switch {
		case err != nil:
			return nil, n, err
		case size == 0: // incomplete
			clear(p.args[:cap(p.args)]) // do not hold on to the caller's last buffer
			return nil, n, nil
		case len(args) > 0:
			return args, n + size, nil
		}
		n += size // an empty request: Redis ignores it
	}
}

// request reads one request at the front of buf: size 0 if it is incomplete.
func (p *Parser) request(buf []byte) (args [][]byte, size int, err error) {
	if p.left == 0 {
		if len(buf) == 0 {
			return nil, 0, nil
		}
		if buf[0] != '*' {
			return p.inline(buf)
		}
		count, next, ok := number(buf, 1)
		switch {
		case !ok || count > p.limits.Args:
			return nil, 0, errMultibulk
		case next == 0:
			return nil, 0, nil
		case p.stranger && count > p.limits.StrangerArgs:
			return nil, 0, errStrangerMultibulk
		case count <= 0:
			return nil, next, nil
		}
		p.begin(count, next)
	}
	for p.left > 0 {
		complete, err := p.argument(buf)
		if err != nil || !complete {
			return nil, 0, err
		}
	}
	for _, s := range p.spans {
		p.args = append(p.args, buf[s.at:s.at+s.n:s.at+s.n])
	}
	return p.args, p.at, nil
}

func (p *Parser) begin(count, at int) {
	if cap(p.spans) > keepArgs {
		p.spans, p.args = nil, nil
	}
	p.left, p.at = count, at
	p.spans, p.args = p.spans[:0], p.args[:0]
}

// argument reads the next argument of a multibulk request.
func (p *Parser) argument(buf []byte) (complete bool, err error) {
	if p.bulk < 0 {
		if p.at >= len(buf) {
			return false, nil
		}
		if c := buf[p.at]; c != '$' {
			return false, ProtocolError(fmt.Sprintf("expected '$', got '%s'", []byte{c}))
		}
		n, next, ok := number(buf, p.at+1)
		switch {
		case !ok || n < 0 || n > p.limits.BulkBytes:
			return false, errBulk
		case next == 0:
			return false, nil
		case p.stranger && n > p.limits.StrangerBulkBytes:
			return false, errStrangerBulk
		case next+n+2 > p.limits.RequestBytes:
			return false, errRequest
		}
		p.bulk, p.at = n, next
	}
	end := p.at + p.bulk + 2 // Redis does not look at the two bytes of the line end, either
	if len(buf) < end {
		return false, nil
	}
	p.spans = append(p.spans, span{p.at, p.bulk})
	p.left, p.bulk, p.at = p.left-1, -1, end
	return true, nil
}

// number reads the line of a length that begins at buf[at], in the only
// spelling Redis accepts. next is where the line behind begins, 0 if this one
// is incomplete. ok is false once it cannot become a number.
func number(buf []byte, at int) (n, next int, ok bool) {
	const most = 1 << 56 // beyond every limit, and ten times it does not overflow
	i, negative := at, false
	if i < len(buf) && buf[i] == '-' {
		i, negative = i+1, true
	}
	first := i
	for ; i < len(buf) && buf[i] != '\r'; i++ {
		d := int(buf[i]) - '0'
		if d < 0 || d > 9 || n > most || (i == first+1 && buf[first] == '0') {
			return 0, 0, false
		}
		n = n*10 + d
	}
	if i < len(buf) && (i == first || negative && n == 0) {
		return 0, 0, false
	}
	if negative {
		n = -n
	}
	if i+1 >= len(buf) {
		return n, 0, true
	}
	return n, i + 2, true
}
