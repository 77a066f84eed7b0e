package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"testing"
)

// A file that is longer wants to be two.
const maxLines = 500

func tree(t *testing.T) []*file {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := goFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go files found")
	}
	return files
}

func TestEveryPackageHasAManual(t *testing.T) {
	manual := map[string]bool{}
	for _, f := range tree(t) {
		if path.Base(f.path) == "doc.go" && f.ast.Doc.Text() != "" {
			manual[f.folder()] = true
		}
	}
	missing := map[string]bool{}
	for _, f := range tree(t) {
		if dir := f.folder(); !manual[dir] && !missing[dir] {
			missing[dir] = true
			t.Errorf("%s has no doc.go with a package comment", dir)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range tree(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines; split it", f.path, f.lines)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no comment", f.path, name)
			}
		}
	}
}

// undocumented returns the exported names that d declares without a comment.
func undocumented(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc.Text() == "" && exportedReceiver(d) && !fulfils(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Doc.Text() != "" && d.Tok != token.TYPE {
			return nil
		}
		var names []string
		for _, s := range d.Specs {
			names = append(names, undocumentedSpec(s, d)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(s ast.Spec, d *ast.GenDecl) []string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc.Text() == "" && d.Doc.Text() == "" {
			return []string{s.Name.Name}
		}
	case *ast.ValueSpec:
		if s.Doc.Text() != "" || s.Comment.Text() != "" {
			return nil
		}
		var names []string
		for _, n := range s.Names {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
		return names
	}
	return nil
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.Ident:
			return u.IsExported()
		default:
			return true
		}
	}
}

// fulfils reports whether d is a method whose meaning its interface in the
// standard library fixes.
func fulfils(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "Error", "String", "Unwrap", "Len", "Less", "Swap":
		return true
	}
	return false
}
