// Package acl knows who may say who they are, and what each may do: the
// [Users] of a configuration.
//
// # Passwords
//
// A user has a password, or its slow hash: argon2id in the PHC string format,
// or bcrypt. [Hash] makes one. The slow hash is computed once per user and
// process: of a password that was accepted a keyed hash is kept (HMAC-SHA-256,
// under a key that is drawn at start and never leaves the process), and whoever
// brings it again costs that much. A password that was given itself has its
// keyed hash from the start.
//
// Every wrong password costs a slow hash, whether there is such a user or not,
// whether they are known already or not: nobody learns from the time which
// names there are. Slow hashes are computed a few at a time (one for each four
// processors), with a rest of three times as long behind each wrong password,
// and who waits too long for their turn is refused with [proxy.ErrShed]:
// guessing takes little from those who are in.
//
// # Rights
//
// Each right is a list of use cases, by name or by a pattern with '*'. The
// greatest right that matches holds. The pattern "*" alone is a right to the
// node as a whole, too.
//
// [Users] is immutable, but for the keyed hashes, and may be used
// concurrently. Read users.go first, then login.go, hash.go and metrics.go.
package acl
