package proxy

import (
	"bytes"
	"fmt"

	"github.com/freshet-cache/freshet/proxy/source/row"
)

// MaxKeyBytes bounds a key on the wire.
const MaxKeyBytes = 512

// UseCase is one mapped table under one key prefix, as every stage sees it.
type UseCase struct {
	ID      int // dense from 0: the index of per-use-case tables
	Name    string
	Mapping *row.Mapping
}

// Key is one key in its only accepted spelling.
//
// Text is valid until the call it was passed to returns: it may lie in a
// connection's read buffer. Who keeps it copies it.
type Key struct {
	UseCase *UseCase
	Text    []byte // "users:42"
}

// Catalog finds use cases by name and by table. It is immutable.
type Catalog struct {
	all     []*UseCase
	byName  map[string]*UseCase
	byTable map[string][]*UseCase
}

// NewCatalog numbers the mappings in order. It refuses a name given twice.
func NewCatalog(mappings ...*row.Mapping) (*Catalog, error) {
	c := &Catalog{byName: map[string]*UseCase{}, byTable: map[string][]*UseCase{}}
	for _, m := range mappings {
		if c.byName[m.Name] != nil {
			return nil, fmt.Errorf("use case %q is defined twice", m.Name)
		}
		u := &UseCase{ID: len(c.all), Name: m.Name, Mapping: m}
		c.all = append(c.all, u)
		c.byName[m.Name] = u
		c.byTable[m.Table] = append(c.byTable[m.Table], u)
	}
	return c, nil
}

// All returns the use cases in the order of their IDs.
func (c *Catalog) All() []*UseCase { return c.all }

// Named returns the use case of that name, or nil.
func (c *Catalog) Named(name string) *UseCase { return c.byName[name] }

// OnTable returns the use cases mapped to a table.
func (c *Catalog) OnTable(table string) []*UseCase { return c.byTable[table] }

// Key resolves the text of a key. It allocates only for an error:
// ErrUnknownUseCase when the prefix names none, and a *BadKeyError when the
// parts are not in the spelling the mapping accepts.
func (c *Catalog) Key(text []byte) (Key, error) {
	colon := bytes.IndexByte(text, ':')
	if colon < 0 {
		return Key{}, ErrUnknownUseCase
	}
	u := c.byName[string(text[:colon])]
	if u == nil {
		return Key{}, ErrUnknownUseCase
	}
	if len(text) > MaxKeyBytes {
		return Key{}, &BadKeyError{Reason: fmt.Sprintf("a key has at most %d bytes", MaxKeyBytes)}
	}
	if err := u.Mapping.Check(text); err != nil {
		return Key{}, &BadKeyError{Reason: err.Error()}
	}
	return Key{UseCase: u, Text: text}, nil
}
