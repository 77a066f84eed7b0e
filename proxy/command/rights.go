package command

import (
	"bytes"
	"fmt"

	"github.com/freshet-cache/freshet/proxy"
)

// right is who may call a command: the table's column. Those behind known
// include each other like proxy.Right, and are about each key of the command.
type right uint8

const (
	unset  right = iota // a row that does not say: nobody may
	anyone              // also who has not said who they are
	known               // every user
	reader              // who may read
	writer              // who may write
	admin               // who may administer: the keys, or without keys the node
)

// needs is what a key's use case must be granted.
func (r right) needs() proxy.Right {
	switch r {
	case reader:
		return proxy.MayRead
	case writer:
		return proxy.MayWrite
	case admin, unset:
		return proxy.MayAdmin
	}
	return proxy.MayNothing
}

// permits reports whether a command may be called at all. What is permitted
// with each of its keys, key and useCase say.
func (s *Session) permits(cmd *command) bool {
	switch {
	case cmd.right == anyone:
		return true
	case s.rights == nil || cmd.right == unset:
		return false
	case cmd.right == admin && cmd.keys == [3]int{}:
		return s.rights.Rest >= proxy.MayAdmin
	}
	return true
}

// forbidden says why a command of that full name is not permitted.
func (s *Session) forbidden(name string) error {
	if s.rights == nil {
		return errNoAuth
	}
	return refusal(fmt.Sprintf("NOPERM this user has no permissions to run the '%s' command", name))
}

// key resolves the text of a key, for a user who has the right that the
// command at hand needs. Handlers know no other way to a key.
func (s *Session) key(text []byte) (proxy.Key, error) {
	key, err := s.all.catalog.Key(text)
	if err != nil {
		return proxy.Key{}, s.hide(text, err)
	}
	if s.rights.Of(key.UseCase) < s.need {
		return proxy.Key{}, errNoKey
	}
	return key, nil
}

// useCase is key for a command that names a use case.
func (s *Session) useCase(name []byte) (*proxy.UseCase, error) {
	u := s.all.catalog.Named(string(name))
	if err := s.granted(u); err != nil {
		return nil, err
	}
	if u == nil {
		return nil, proxy.ErrUnknownUseCase
	}
	return u, nil
}

// hide replaces what is wrong with a key for a user without the right to it:
// they learn neither which use cases there are nor how their keys are spelled.
func (s *Session) hide(text []byte, err error) error {
	name, _, _ := bytes.Cut(text, []byte(":"))
	if hidden := s.granted(s.all.catalog.Named(string(name))); hidden != nil {
		return hidden
	}
	if bytes.Contains(text, optionMark) {
		return errKeyWrite
	}
	return err
}

// granted refuses a use case to a user without the right to it; nil is one
// that there is not.
func (s *Session) granted(u *proxy.UseCase) error {
	have := s.rights.Rest
	if u != nil {
		have = s.rights.Of(u)
	}
	if have < s.need {
		return errNoKey
	}
	return nil
}
