package config

import (
	"fmt"
	"net"
	"path"
	"regexp"
	"slices"
	"strings"
)

// User is somebody who may connect.
type User struct {
	Name     string   `yaml:"name" doc:"What AUTH names; AUTH with a password alone means the user default. Required."`
	Password Password `yaml:"password" doc:"The password behind ${NAME} or file:PATH, or its hash, there or here, as \"freshet hash-password\" prints it. Required."`
	Priority string   `yaml:"priority" default:"normal" enum:"normal,low" doc:"Whose requests are refused first where too many wait."`
	Rights   Rights   `yaml:"rights" doc:"What they may do. Each right includes those above it."`
}

// Rights are use cases by what a user may do with them.
type Rights struct {
	Read  []string `yaml:"read" doc:"Use cases they may read: names, and patterns with \"*\"."`
	Write []string `yaml:"write" doc:"Use cases they may write."`
	Admin []string `yaml:"admin" doc:"Use cases of which they may drop what is cached; with \"*\", what concerns the whole node, too."`
}

// Password is a Secret, or the hash of one, which need not be kept secret as
// much, and may stand in the configuration.
type Password struct{ Secret }

var errPassword = fmt.Errorf(`%w; or the hash that "freshet hash-password" prints`, errLiteral)

func parsePassword(s string) (Password, error) {
	if strings.HasPrefix(s, "$argon2") || strings.HasPrefix(s, "$2") {
		return Password{Secret{reference: "a hash", value: s}}, nil
	}
	secret, err := parseSecret(s)
	if err != nil {
		return Password{}, errPassword
	}
	return Password{secret}, nil
}

var userName = regexp.MustCompile(`^[!-~]{1,64}$`)

func (c *Config) validateUsers(bad reporter) {
	for i, u := range c.Users {
		at := func(setting string) string { return fmt.Sprintf("users[%d].%s", i, setting) }
		if !userName.MatchString(u.Name) {
			bad(at("name"), "%q is no name; use 1 to 64 printable characters of ASCII, and no spaces", u.Name)
		}
		if first := slices.IndexFunc(c.Users, func(o User) bool { return o.Name == u.Name }); first < i {
			bad(at("name"), "user %q is defined twice, first as users[%d]; rename one", u.Name, first)
		}
		if !u.Password.Given() {
			bad(at("password"), "is required; give it as ${NAME}, as file:PATH, or as the hash that \"freshet hash-password\" prints")
		}
		c.validatePatterns(at("rights.read"), u.Rights.Read, bad)
		c.validatePatterns(at("rights.write"), u.Rights.Write, bad)
		c.validatePatterns(at("rights.admin"), u.Rights.Admin, bad)
	}
}

func (c *Config) validatePatterns(at string, patterns []string, bad reporter) {
	for i, pattern := range patterns {
		matches := func(u UseCase) bool {
			ok, err := path.Match(pattern, u.Name)
			return ok && err == nil
		}
		if pattern != "*" && !slices.ContainsFunc(c.UseCases, matches) {
			bad(fmt.Sprintf("%s[%d]", at, i), "no use case is named %q; name one, or a pattern that matches some", pattern)
		}
	}
}

// Loopback reports whether only this machine can reach an address.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
