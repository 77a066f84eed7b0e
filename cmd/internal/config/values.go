package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time, written as in Go.
type Duration time.Duration

// String writes d as it is read.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func parseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf(`%q is no duration; write a number and a unit, such as "2s" or "100ms"`, s)
	}
	return Duration(d), nil
}

// Size is a number of bytes.
type Size int64

var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String writes s in the largest unit of which it is a whole number.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && u.bytes > 1 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func parseSize(s string) (Size, error) {
	number, factor := s, int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf(`%q is no size; write a whole number of bytes, or of KiB, MiB or GiB, such as "256MiB"`, s)
	}
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, fmt.Errorf("%q is more than 64 bits can count", s)
	}
	return Size(n * factor), nil
}

// Secret is a reference to a secret, and what it refers to once it is read.
// It prints as its reference.
type Secret struct {
	reference string
	value     string
}

var errLiteral = errors.New("a secret does not stand in the configuration; write ${NAME} for a variable of the environment, or file:PATH")

func parseSecret(s string) (Secret, error) {
	if name := variable(s); name != "" || strings.HasPrefix(s, "file:") && s != "file:" || s == "" {
		return Secret{reference: s}, nil
	}
	return Secret{}, errLiteral
}

// variable returns the NAME of "${NAME}".
func variable(s string) string {
	if rest, ok := strings.CutPrefix(s, "${"); ok {
		if name, ok := strings.CutSuffix(rest, "}"); ok && !strings.ContainsAny(name, "${}= ") {
			return name
		}
	}
	return ""
}

// Given reports whether there is a reference.
func (s Secret) Given() bool { return s.reference != "" }

// Value returns the secret itself.
func (s Secret) Value() string { return s.value }

// String returns the reference: a secret cannot be printed by accident.
func (s Secret) String() string { return s.reference }

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.reference }

// read fetches the secret. Errors name the reference only.
func (s *Secret) read(dir string, lookup func(string) (string, bool)) error {
	if path, ok := strings.CutPrefix(s.reference, "file:"); ok {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		line, _, _ := bytes.Cut(data, []byte("\n"))
		s.value = strings.TrimSuffix(string(line), "\r")
		if s.value == "" {
			return fmt.Errorf("the first line of %s is empty; write the secret there", path)
		}
		return nil
	}
	if name := variable(s.reference); name != "" {
		value, ok := lookup(name)
		if !ok || value == "" {
			return fmt.Errorf("the environment has no %s; set it, or name a file with file:PATH", name)
		}
		s.value = value
	}
	return nil
}
