package node

import (
	"fmt"

	"github.com/freshet-cache/freshet/proxy/acl"
	"github.com/freshet-cache/freshet/proxy/command"
)

// users are those the node lets in; nil: everybody.
func (n *Node) users() (command.Users, error) {
	var list []acl.User
	for _, u := range n.config.Users {
		list = append(list, acl.User{
			Name: u.Name, Password: u.Password.Value(), Low: u.Priority == "low",
			Read: u.Rights.Read, Write: u.Rights.Write, Admin: u.Rights.Admin,
		})
	}
	users, err := acl.New(n.catalog, list, n.registry)
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return users, nil
}

// HashPassword returns the hash of a password, as a configuration takes it.
func HashPassword(password []byte) (string, error) { return acl.Hash(password) }
