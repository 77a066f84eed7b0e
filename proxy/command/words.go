package command

import (
	"context"
	"errors"
	"strings"

	"github.com/freshet-cache/freshet/proxy"
)

// refusal is an error whose text is the reply. Where Redis has words for it,
// they are those.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errSyntax         refusal = "ERR syntax error"
	errWrongType      refusal = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errExpiry         refusal = "ERR keys do not expire: the row lives in the database"
	errSetRow         refusal = "ERR SET writes one column, and this use case maps the whole row"
	errFields         refusal = "ERR too many fields: no table has so many columns"
	errNames          refusal = "ERR too many names at once"
	errPattern        refusal = "ERR the pattern is longer than that of any key"
	errInMulti        refusal = "ERR transactions are not offered: the command is not carried out"
	errNoTransactions refusal = "ERR transactions are not offered"
	errNoCursor       refusal = "ERR invalid cursor"
	errOldCursor      refusal = "ERR unknown cursor: this node has not given it out, or long ago: begin again with 0"
	errNoScanner      refusal = "ERR this source cannot list keys"
	errNoCommand      refusal = "ERR Invalid command specified"
	errNoKeys         refusal = "ERR The command has no key arguments"
	errKeysArity      refusal = "ERR Invalid number of arguments specified for command"
	errNoClient       refusal = "ERR No such client"
	errClientID       refusal = "ERR Invalid client ID"
	errClientNumber   refusal = "ERR client-id should be greater than 0"
	errNested         refusal = "ERR MULTI calls can not be nested"
	errNoMulti        refusal = "ERR EXEC without MULTI"
	errNoDiscard      refusal = "ERR DISCARD without MULTI"
	errExecAbort      refusal = "EXECABORT Transaction discarded because of previous errors: transactions are not offered"
	errMaxStale       refusal = "ERR MAXSTALE is not a number of milliseconds"
	errToken          refusal = "ERR TOKEN is not a token of FRESHET.TOKEN"
	errKeyOption      refusal = "ERR options behind a key are maxstale=ms, strong and token=t, joined by &"
	errKeyWrite       refusal = "ERR options behind a key are for reads"
	errNameOption     refusal = "ERR options behind a connection's name are session, strong and maxstale=ms, joined by &"
	errReplica        refusal = "ERR the use case is read from replicas, which keep neither sessions nor tokens"
	errProof          refusal = "ERR proofs are attributes of RESP3: say HELLO 3 first, or use FRESHET.GET key PROOF"
	errName           refusal = "ERR Client names cannot contain spaces, newlines or special characters."
	errVersion        refusal = "ERR Protocol version is not an integer or out of range"
	errNoProto        refusal = "NOPROTO unsupported protocol version"
	errHelloNoAuth    refusal = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errNoAuth         refusal = "NOAUTH Authentication required."
	errNoKey          refusal = "NOPERM this user has no permissions to access one of the keys used as arguments"
	errNoPassword     refusal = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	errNoInteger      refusal = "ERR value is not an integer or out of range"
	errDatabase       refusal = "ERR DB index is out of range"
	errNoCluster      refusal = "ERR This instance has cluster support disabled"
)

// notToldOf is for what was dropped here, and perhaps not at all nodes.
func notToldOf(nodes []string) refusal {
	return refusal("UNAVAILABLE dropped, but perhaps not at " + strings.Join(nodes, ", ") + ": say it again")
}

// words are what a client is told of an error. The first word is what
// programs look at: UNAVAILABLE and UNKNOWN are Freshet's own. A read-only use
// case is no READONLY, by which clients would go and look for another primary.
func words(err error) string {
	var own refusal
	var badKey *proxy.BadKeyError
	var rejected *proxy.RejectedError
	var unavailable *proxy.UnavailableError
	switch {
	case errors.As(err, &own):
		return string(own)
	case errors.As(err, &badKey):
		return "ERR " + badKey.Error()
	case errors.As(err, &rejected):
		return "ERR " + rejected.Reason
	case errors.Is(err, proxy.ErrUnknownUseCase):
		return "ERR no such use case: a key is spelled usecase:part"
	case errors.Is(err, proxy.ErrWrongPassword):
		return "WRONGPASS invalid username-password pair or user is disabled."
	case errors.Is(err, proxy.ErrShed):
		return "ERR too many at once: try again"
	case errors.Is(err, proxy.ErrReadOnly):
		return "ERR use case is read-only"
	case errors.Is(err, proxy.ErrUnknownOutcome):
		return "UNKNOWN the source was lost while the write committed: it may have happened or not"
	case errors.As(err, &unavailable):
		return "UNAVAILABLE the source cannot answer: " + unavailable.Reason
	case errors.Is(err, proxy.ErrUnavailable):
		return "UNAVAILABLE the source did not answer in time, and nothing within the bound is at hand"
	case errors.Is(err, proxy.ErrNotPrimary):
		return "UNAVAILABLE the source was not answered by its current primary"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "UNAVAILABLE the wait for the source was ended"
	}
	return "ERR " + err.Error()
}

func wrongArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// unknownCommand quotes the beginning of the request, cut where Redis cuts it.
func unknownCommand(args [][]byte) string {
	const most = 128
	var rest []byte
	for _, a := range args[1:] {
		if len(rest) >= most {
			break
		}
		rest = append(rest, '\'')
		rest = append(append(rest, cString(a, most-len(rest)+1)...), "' "...)
	}
	return "ERR unknown command '" + cString(args[0], most) + "', with args beginning with: " + string(rest)
}

func unknownSubcommand(args [][]byte) string {
	return "ERR unknown subcommand '" + cString(args[1], 128) + "'. Try " +
		strings.ToUpper(cString(args[0], 128)) + " HELP."
}

// cString is b as C would print it: at most n bytes, up to the first NUL.
func cString(b []byte, n int) string {
	s := string(b[:min(n, len(b))])
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s
}
