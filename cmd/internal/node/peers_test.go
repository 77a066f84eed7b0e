package node

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-cache/freshet/proxy"
	"github.com/freshet-cache/freshet/proxy/acl"
	"github.com/freshet-cache/freshet/proxy/source/row"
)

// An owner reads for a user of another node only what its own table gives to a
// user of that name.
func TestOwnersAskTheirOwnTable(t *testing.T) {
	catalog, err := proxy.NewCatalog(&row.Mapping{Spec: row.Spec{Name: "open"}}, &row.Mapping{Spec: row.Spec{Name: "closed"}})
	if err != nil {
		t.Fatal(err)
	}
	users, err := acl.New(catalog, []acl.User{{Name: "shop", Password: "secret", Read: []string{"open"}}}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	read := func(names ...string) (reqs []proxy.Request) {
		for _, name := range names {
			reqs = append(reqs, proxy.Request{Key: proxy.Key{UseCase: catalog.Named(name)}})
		}
		return reqs
	}
	shop, stranger := &proxy.Caller{Name: "shop"}, &proxy.Caller{Name: "ship"}
	for name, c := range map[string]struct {
		users  *acl.Users
		caller *proxy.Caller
		reqs   []proxy.Request
		may    bool
	}{
		"no users":     {nil, nil, read("open", "closed"), true},
		"given":        {users, shop, read("open", "open"), true},
		"not given":    {users, shop, read("open", "closed"), false},
		"not known":    {users, stranger, read("open"), false},
		"without name": {users, nil, read("open"), false},
	} {
		p := peers{users: c.users}
		if may := p.may(c.caller, c.reqs); may != c.may {
			t.Errorf("%s: may read: %v", name, may)
		}
		if c.may {
			continue
		}
		results := make([]proxy.Result, len(c.reqs))
		caller := proxy.Caller{}
		if c.caller != nil {
			caller = *c.caller
		}
		p.Load(caller.With(t.Context()), c.reqs, results)
		for i := range results {
			if !errors.Is(results[i].Err, proxy.ErrUnavailable) {
				t.Errorf("%s: answered %v, and the node that asks does not read itself", name, results[i])
			}
		}
	}
}
