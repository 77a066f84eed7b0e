// Package tabletest is what every table of a conformance run has to do: [Run]
// makes it, changes it in every way, alone and with others, and drops it; for
// a database that is somebody's, [RunGuest] enters and leaves it.
package tabletest
