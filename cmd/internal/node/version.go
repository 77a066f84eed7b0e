package node

import "runtime/debug"

// Version is this build's version: "devel" unless it was built as a module of
// some version.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
