// Package gossip is a directory of members that find each other: by
// hashicorp/memberlist (SWIM, with the extensions of Lifeguard).
//
// A node needs the addresses of one or more others ([Options].Seeds) to begin
// with; from then on all know of all, and a node that does not answer is found
// out within seconds. Each node carries what it says of itself with it
// ([Directory.Announce]): address, weight, state, zone, start, version,
// occupancy. With a key, all that is sent is encrypted and authenticated
// (AES-GCM); a node without it, or with another, is no member, and both sides
// say so.
//
// Two nodes of one name: the one that was there first stays, and every node
// that hears of both names them. Nodes of other tiers on the same network are
// told apart by [Options].Tier. A record that cannot be read leaves that
// member out and is told as a problem. Seeds that are not members are called
// again and again, so that two halves of a tier find back together.
//
// memberlist does not wait for its own goroutines: some may run on for moments
// after [Directory.Run] has returned.
//
// Read gossip.go first, then delegate.go (what travels) and log.go (what the
// library says).
package gossip
