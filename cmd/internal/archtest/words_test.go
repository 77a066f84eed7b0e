package archtest

import (
	"bytes"
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"
)

// The top level stays as it is: who looks for something finds it below.
var topLevel = []string{
	"cache", "cdc", "cmd", "docker-compose.yml", "go.mod", "go.sum", "hashring", "proxy", "README.md", "testdata",
}

func TestTopLevelIsFixed(t *testing.T) {
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile(dir + "/.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		built := bytes.Contains(ignored, []byte("/"+e.Name()+"\n"))
		if !strings.HasPrefix(e.Name(), ".") && !built && !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s stands at the top level; its place is below", e.Name())
		}
	}
}

// What says where it was written does not work where it is read. The words are
// put together here, so that this file does not hold them.
var foreign = []string{
	"/ho" + "me/", "/ro" + "ot/", "/wo" + "rk/", "/Us" + "ers/", "C:" + `\`,
	"proxy.gol" + "ang.org", "sum.gol" + "ang.org", "registry.npm" + "js.org", "pypi" + ".org",
	"dock" + "er.io/", "gh" + "cr.io", "repo1.mav" + "en.org",
}

func TestNoForeignPlaces(t *testing.T) {
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	err = texts(dir, func(path string, data []byte) error {
		for _, word := range foreign {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s names %s", path, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forbidden calls, and where they are allowed all the same.
var forbidden = []struct {
	pkg, name string
	except    []string
	why       string
}{
	{"time", "After", nil, "its timer cannot be stopped; use a Timer or a context"},
	{"os", "Getenv", []string{"cmd/internal/stack/..."}, "the environment is read by package config, and for tests, which have no configuration, by package stack"},
	{"os", "LookupEnv", []string{"cmd/internal/config"}, "the environment is read by package config"},
	{"os", "Exit", []string{"cmd/freshet"}, "skips what was deferred; return an error"},
	{"log", "Fatal", nil, "skips what was deferred; return an error"},
}

func TestForbiddenCalls(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			for _, c := range forbidden {
				if ok && x.Name == c.pkg && s.Sel.Name == c.name && !within(f.folder(), c.except) {
					t.Errorf("%s calls %s.%s: %s", f.path, c.pkg, c.name, c.why)
				}
			}
			return true
		})
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, f := range tree(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function; what it does belongs into a constructor", f.path)
			}
		}
	}
}
