// Package clock estimates a source's clock on this node.
//
// Each round trip that brings the source's time gives an interval in which
// that clock stands now; it widens by 200 ppm with the time since, and two
// round trips narrow it to what they have in common. [Clock.Bounds] are the
// contract's src_lo and src_hi. An interval that does not meet the one before
// is a step of the source's clock ([Clock.Observe] reports it), which the
// change stream treats as a gap.
//
// The local clock underneath is [Boottime]: it counts the time a machine was
// suspended, which the monotonic clock of package time does not.
package clock
