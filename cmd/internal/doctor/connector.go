package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// parseConnector reads the settings of a connector: JSON, as Kafka Connect's
// REST interface takes it with or without a name, or a file of properties.
func parseConnector(from string, data []byte) (Connector, error) {
	c := Connector{From: from, Config: map[string]string{}}
	text := bytes.TrimSpace(data)
	if len(text) == 0 || text[0] != '{' {
		if err := parseProperties(text, c.Config); err != nil {
			return c, fmt.Errorf("%s: %w", from, err)
		}
		c.Name = c.Config["name"]
		return c, nil
	}
	var outer map[string]any
	if err := json.Unmarshal(text, &outer); err != nil {
		return c, fmt.Errorf("%s is no JSON: %w", from, err)
	}
	if inner, ok := outer["config"].(map[string]any); ok {
		c.Name, _ = outer["name"].(string)
		outer = inner
	}
	for name, value := range outer {
		c.Config[name] = fmt.Sprint(value)
	}
	c.Name = cmp.Or(c.Name, c.Config["name"])
	return c, nil
}

// parseProperties reads Java's properties, as far as settings of connectors
// need them: NAME=VALUE or NAME: VALUE, comments, lines that a backslash
// continues, and characters behind a backslash.
func parseProperties(data []byte, into map[string]string) error {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && lines.Scan() {
			line = line[:len(line)-1] + strings.TrimLeft(lines.Text(), " \t\f")
		}
		name, value := cutProperty(line)
		into[name] = value
	}
	return lines.Err()
}

// continued reports whether a line ends in a backslash that is none's own.
func continued(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

func cutProperty(line string) (name, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return unescape(line[:end]), unescape(rest)
}

var escape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

func unescape(text string) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		switch e[1] {
		case 't':
			return "\t"
		case 'n':
			return "\n"
		case 'r':
			return "\r"
		case 'u':
			var r rune
			if _, err := fmt.Sscanf(e[2:], "%x", &r); err == nil {
				return string(r)
			}
		}
		return e[1:]
	})
}

// setting returns a setting, or Debezium's default of it.
func (c *Connector) setting(name, otherwise string) string {
	return cmp.Or(strings.TrimSpace(c.Config[name]), otherwise)
}

// isDebezium reports whether it is a connector of Debezium's.
func (c *Connector) isDebezium() bool {
	return strings.HasPrefix(c.Config["connector.class"], "io.debezium.connector.")
}

func (c *Connector) isPostgres() bool {
	return strings.HasSuffix(c.Config["connector.class"], ".PostgresConnector")
}

// slot and publication are where it reads the log.
func (c *Connector) slot() string        { return c.setting("slot.name", "debezium") }
func (c *Connector) publication() string { return c.setting("publication.name", "dbz_publication") }

// user is who it writes the database as; "": not known, as where Kafka Connect
// keeps it elsewhere and shows ${PROVIDER:NAME}.
func (c *Connector) user() string {
	if user := c.setting("database.user", ""); !strings.Contains(user, "${") {
		return user
	}
	return ""
}

// lets reports whether filters by regular expression let a name through: a list
// that includes and one that excludes, each of which may be empty. Java's
// expressions are taken for Go's; one that Go does not know lets all through.
func lets(include, exclude, name string) bool {
	if include != "" {
		return matches(include, name)
	}
	return exclude == "" || !matches(exclude, name)
}

func matches(patterns, name string) bool {
	for pattern := range strings.SplitSeq(patterns, ",") {
		re, err := regexp.Compile(`(?i)^(?:` + strings.TrimSpace(pattern) + `)$`)
		if err != nil || re.MatchString(name) {
			return true
		}
	}
	return false
}

// transforms are the names of its transforms, in their order.
func (c *Connector) transforms() (names []string) {
	for name := range strings.SplitSeq(c.Config["transforms"], ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// transform returns a setting of a transform.
func (c *Connector) transform(name, setting string) string {
	return c.Config["transforms."+name+"."+setting]
}

const regexRouter = "org.apache.kafka.connect.transforms.RegexRouter"

// leads returns where the transforms lead records of a topic. It is not known
// if one is among them that Freshet does not follow.
func (c *Connector) leads(topic string) (to string, known bool) {
	for _, name := range c.transforms() {
		switch kind := c.transform(name, "type"); {
		case kind == regexRouter && c.transform(name, "predicate") == "":
			re, err := regexp.Compile(`^(?:` + c.transform(name, "regex") + `)$`)
			if err != nil {
				return "", false
			}
			if re.MatchString(topic) {
				topic = re.ReplaceAllString(topic, goReplacement(c.transform(name, "replacement")))
			}
		case strings.Contains(kind, "Router") || strings.Contains(kind, "Regex"):
			return "", false
		}
	}
	return topic, true
}

var javaGroup = regexp.MustCompile(`\$(\d+)`)

// goReplacement spells a group of Java's as Go does: $1x is group 1, then x.
func goReplacement(java string) string { return javaGroup.ReplaceAllString(java, "$${$1}") }
