package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const module = "github.com/freshet-cache/freshet"

// file is one Go file of the tree.
type file struct {
	path  string // from the root, with slashes
	test  bool
	ast   *ast.File
	lines int
}

// folder is the package's path from the root.
func (f *file) folder() string { return path.Dir(f.path) }

// imports returns the paths that f imports.
func (f *file) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// root finds the module's root above the working directory.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
	}
}

// texts calls visit for every regular file of the tree that is not hidden and
// no test data.
func texts(root string, visit func(path string, data []byte) error) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && name != root
		if d.IsDir() {
			if (hidden && d.Name() != ".ci") || (d.Name() == "testdata" && filepath.Dir(name) != root) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel), data)
	})
}

// goFiles parses every Go file of the tree, whatever its build constraints.
func goFiles(root string) ([]*file, error) {
	var out []*file
	fset := token.NewFileSet()
	err := texts(root, func(name string, data []byte) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		tree, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, &file{
			path:  name,
			test:  strings.HasSuffix(name, "_test.go"),
			ast:   tree,
			lines: strings.Count(string(data), "\n"),
		})
		return nil
	})
	return out, err
}
