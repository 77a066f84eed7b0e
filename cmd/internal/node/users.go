package node

import (
	"fmt"

	"github.com/freshet-cache/freshet/proxy/acl"
)

// admit reads who may use the node. Without users, everybody may.
func (n *Node) admit() error {
	var list []acl.User
	for _, u := range n.config.Users {
		list = append(list, acl.User{
			Name: u.Name, Password: u.Password.Value(), Low: u.Priority == "low",
			Read: u.Rights.Read, Write: u.Rights.Write, Admin: u.Rights.Admin,
		})
	}
	users, err := acl.New(n.catalog, list, n.registry)
	if err != nil {
		return fmt.Errorf("users: %w", err)
	}
	if len(list) > 0 {
		n.users = users
	}
	return nil
}

// HashPassword returns the hash of a password, as a configuration takes it.
func HashPassword(password []byte) (string, error) { return acl.Hash(password) }
