package command

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The README's table of commands has those of the table, and no others.
func TestReadmeListsTheCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "\n## Commands\n")
	section, _, _ := strings.Cut(rest, "\n\nA write ")
	s := newFake()
	c := New(catalog(t), s, s, Options{})
	listed := map[string]bool{}
	for _, line := range strings.Split(section, "\n") {
		cell, _, _ := strings.Cut(strings.ReplaceAll(line, `\|`, "/"), " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			for _, name := range c.inReadme(strings.ToLower(m[1])) {
				listed[name] = true
			}
		}
	}
	missing := map[string]bool{}
	c.everyRow(func(name string, cmd *command) {
		missing[name] = !listed[name]
	})
	for name, is := range missing {
		if is {
			t.Errorf("%s is not in the README", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("the README lists %s, which there is not", name)
	}
}

// inReadme are the full names that a spelling in the README stands for:
// "client id/getname", "command [count/docs]", "get key".
func (c *Commands) inReadme(spelling string) (names []string) {
	words := strings.Fields(spelling)
	cmd := c.byName[words[0]]
	if cmd == nil || cmd.subs == nil || len(words) == 1 {
		return words[:1]
	}
	if cmd.run != nil {
		names = words[:1]
	}
	for _, sub := range strings.Split(strings.Trim(words[1], "[]"), "/") {
		names = append(names, words[0]+" "+sub)
	}
	return names
}
