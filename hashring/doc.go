// Package hashring says who owns a key.
//
// A key belongs to one of 16,384 slots ([SlotOf], the slots of Redis Cluster,
// so that cluster clients may compute them too), and [Rings] place the slots
// over the members of a tier. Ownership is for hit rate and source load only:
// the staleness contract does not depend on it, and two nodes may disagree for
// a while.
//
// # Placements
//
// Who owns what in the end depends on the set of members alone: their names
// and weights, not their order or history. Two nodes with the same
// [Rings.Checksum] agree. A joining member takes its share from the others,
// and next to nothing moves between them; a leaving one leaves its share to
// all. [Placement] names the three ways: rendezvous hashing over slots, the
// table of the library consistent, and Skipper's ring over keys. A weight is a
// number of virtual members in each.
//
// Rendezvous is the default because of its shares. Over 20 of 20 sets of names,
// 3→4, 10→11 and 100→101 nodes move within 0.7 points of 1/n of the slots, and
// weights 1:2:4 come out within 1.1 points. With the library at its 100
// replicas, the share that moves on 3→4 misses a quarter by more than a point
// for 43 of 60 sets, and 24 of 60 miss 1:2:4 by more than two points; with
// 1,000 replicas 7 of 60 still miss, and 1,000 nodes take minutes, since it
// sorts all points once per virtual member. Rendezvous hashing does not get
// better by points: what is left is the chance in 16,384 draws.
//
// # Fading in
//
// A member that joins takes its keys over a window, few at first and most at
// the end ([Options].Exponent), so that its misses do not come at once. Which
// keys have moved is decided by their numbers and by when the member joined,
// which it announces itself: every node finds the same from the list of
// members, also one that has just started. By the rule [Keep] a key goes to
// its owner on the newest ring, or, before its turn, to its owner among those
// who were established when that owner joined. Scale-ups overlap freely: each
// has its own window. [LikeSkipper] nests rings as Skipper's filter does, for
// tiers where a Skipper routes too. Members that join within a fifteenth of
// the window (2 s of 30 s) join together. In a tier's first window nobody
// fades in, since nobody has keys to lose.
//
// # Bounded load
//
// [Rings.OwnerUnder] passes keys of members that are overloaded to the next on
// the ring: [Passing] by occupancy as the members report it, [InFlight] by
// counts of one moment.
//
// # Use
//
// Rings are an immutable value: [New] and [Rings.Next] build them away from
// the hot path, an atomic reference publishes them, look-ups take no lock and
// allocate nothing. All methods may be called concurrently. Errors are for
// people: they name the member and the limit.
//
// Read slot.go, member.go, rendezvous.go and consistent.go first, then ring.go (one
// placement), rings.go and fade.go (several in force), bound.go, explain.go.
//
// # Figures
//
// By simulation_test.go, which runs this code in virtual time. Tables, with
// 200,000 keys; a build takes one core, what it takes with little else to do:
//
//	            nodes  keys: max/mean  min/mean  moved by a join (ideal)  between old  build    memory
//	rendezvous     10            1.02      0.98  8.95 % (9.09)            0.00 %       1.3 ms    35 KB
//	rendezvous    100            1.11      0.79  1.14 % (0.99)            0.19 %       9 ms      66 KB
//	rendezvous   1000            1.42      0.16  0.18 % (0.10)            0.07 %       91 ms    377 KB
//	consistent     10            1.11      0.86  8.82 % (9.09)            0.00 %       7 ms      36 KB
//	consistent    100            1.26      0.74  1.09 % (0.99)            0.01 %       63 ms     67 KB
//	consistent   1000            1.54      0.25  0.10 % (0.10)            0.01 %       6.6 s    378 KB
//	skipper        10            1.15      0.78  10.4 % (9.09)            0.00 %       0.1 ms    20 KB
//	skipper       100            1.27      0.74  0.96 % (0.99)            0.00 %       1.8 ms   248 KB
//	skipper      1000            1.43      0.62  0.11 % (0.10)            0.00 %       21 ms   2143 KB
//
// (1,000 nodes share 16,384 slots, 16 each: such a tier is more even on
// Skipper's ring, which has no slots.)
//
// Nodes whose clocks differ disagree on the keys whose turn lies between. By
// Keep, with 30 s, mean over the window and most at a time:
//
//	apart                     10 ms           100 ms           1 s              5 s
//	1 joins 10 nodes          0.01 %, 0.03    0.03 %, 0.07     0.30 %, 0.74     1.3 %, 3.3
//	5 join 10 nodes           0.01 %, 0.06    0.11 %, 0.33     1.1 %, 2.9       4.8 %, 12
//	10 join 100 nodes         0.01 %, 0.03    0.03 %, 0.10     0.30 %, 0.83     1.3 %, 3.7
//
// Bounds, with keys of uneven popularity of which one in fifty costs forty
// times the others, nodes 60 % busy; copies are fills of one key at several
// nodes:
//
//	nodes  bound      occupancy max/mean, deviation  away from the owner  copies per key  p99 of waiting
//	   10  none       1.32, 14 %                      0.0 %               1.00            26 ms
//	   10  occupancy  1.31, 14 %                      0.2 %               1.00            26 ms
//	   10  in flight  1.07,  3 %                     43 %                 1.42             8 ms
//	   50  none       2.35, 30 %                      0.0 %               1.00            6.1 s
//	   50  occupancy  1.46, 19 %                      3.2 %               1.01            70 ms
//	   50  in flight  1.17,  6 %                     56 %                 1.55            0.2 ms
//
// Occupancy moves few keys and only off nodes that are overloaded; a bound on
// requests in flight evens out every moment, and pays with half the requests
// away from where their keys are kept.
package hashring
