// Package config is the whole configuration of freshet: one YAML file.
//
// Each setting is declared once, as a field of [Config] or of what it nests:
// its name, its default, its limits and its meaning are the field's tags, and
// the decoder, the defaults and the reference that "freshet --print-defaults"
// prints are made from them.
//
// Reading is strict. An unknown setting, a setting given twice and a value of
// the wrong type or out of its limits are errors with file and line, and so is
// what [Config.Validate] finds between settings. All errors of a file are
// reported together, each with what mends it.
//
// A [Secret] is not written into the file. It is "${NAME}", a variable of the
// environment, or "file:PATH", the first line of a file (a relative PATH
// starts at the configuration's folder). It is never printed.
//
// Sizes are whole numbers of bytes, or of KiB, MiB and GiB; durations are as
// in Go ("2s", "100ms").
//
// Read config.go first, with the sections that have files of their own
// (listeners.go, users.go, tier.go, debezium.go, audit.go, conform.go), then
// values.go, decode.go, validate.go and print.go.
package config
