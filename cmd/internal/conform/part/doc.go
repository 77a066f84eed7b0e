// Package part is this program started again as the parts of a deployment: a
// relay, nodes, and in one out of one binary a broker, each a process of its
// own, so that killing and freezing them is real.
//
// A [Tier] is the side that starts them; [Run] is what the processes do. A
// process says on its output where it serves once it does, takes orders for
// faults on its input, one a line, and ends when its input ends: so nothing is
// left behind, however the run itself ends. A frozen one is in a process group
// of its own, which the kernel wakes and ends when the run has ended.
//
// Between the broker and everybody else stands a [Front]: it knows by the
// Kafka client's name who comes, and can hold, delay or cut the connections of
// one of them. What no cable can do to a stream is done at the seams of the
// processes (points.go): a relay that repeats, delays and loses what it
// appends (topic.go), or makes it look as another database's log would
// (images.go), or goes on when its primary is none any more (survivor.go); a
// source that is slow or refuses, a clock that steps.
//
// Read tier.go with process.go, front.go, faults.go, turns.go, strange.go and
// settings.go; then part.go with points.go, topic.go, images.go and survivor.go.
package part
