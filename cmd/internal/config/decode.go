package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// decoder fills settings from a YAML document and gathers every error. It
// walks the syntax tree itself, because the library's own messages quote the
// lines around an error, and a secret may stand there.
type decoder struct {
	file  string
	where map[string]int
	errs  []error
}

func (d *decoder) fail(line int, format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("%s:%d: %w", d.file, line, fmt.Errorf(format, args...)))
}

func (d *decoder) document(data []byte, v reflect.Value) {
	file, err := parse(data)
	if err != nil {
		line, message := 1, err.Error()
		if at := yaml.Error(nil); errors.As(err, &at) {
			message = at.GetMessage()
			if t := at.GetToken(); t != nil {
				line = t.Position.Line
			}
		}
		d.fail(line, "%s", message)
		return
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 1:
		d.value("", bodies[0], v, "")
	case len(bodies) > 1:
		d.fail(lineOf(bodies[1]), "a second document; put everything into one")
	}
}

// parse turns a panic of the parser into an error: a file of noise must not
// take the process with it.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("not YAML")
		}
	}()
	return parser.ParseBytes(data, 0)
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil {
		return t.Position.Line
	}
	return 1
}

// value decodes a node into v; tag is the tag of v's field.
func (d *decoder) value(path string, n ast.Node, v reflect.Value, tag reflect.StructTag) {
	d.where[path] = lineOf(n)
	switch n := n.(type) {
	case *ast.NullNode:
		return // a key without a value keeps its default
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.fail(lineOf(n), "%s: anchors, aliases and tags are not read here; write the value out", path)
		return
	case *ast.CommentGroupNode:
		return
	case *ast.MappingNode:
		if _, scalar := scalarName(v); v.Kind() == reflect.Struct && !scalar {
			d.mapping(path, n.Values, v)
			return
		}
		if whole, ok := unspaced(n); ok && v.Kind() == reflect.String {
			v.SetString(whole)
			return
		}
	case *ast.MappingValueNode:
		if _, scalar := scalarName(v); v.Kind() == reflect.Struct && !scalar {
			d.mapping(path, []*ast.MappingValueNode{n}, v)
			return
		}
	case *ast.SequenceNode:
		if v.Kind() == reflect.Slice {
			d.sequence(path, n, v)
			return
		}
	case ast.ScalarNode:
		if _, scalar := scalarName(v); scalar {
			if err := setScalar(v, text(n), tag); err != nil {
				d.fail(lineOf(n), "%s: %w", path, err)
			}
			return
		}
	}
	d.fail(lineOf(n), "%s: want %s", subject(path), wanted(v))
}

func subject(path string) string {
	if path == "" {
		return "the configuration"
	}
	return path
}

func wanted(v reflect.Value) string {
	if name, ok := scalarName(v); ok {
		return name
	}
	if v.Kind() == reflect.Slice {
		return `a list, with "- " in front of each item`
	}
	return "a mapping of these settings: " + strings.Join(names(v.Type()), ", ")
}

// text returns a scalar as it was written, without quotes.
func text(n ast.ScalarNode) string {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.StringNode:
		return n.Value
	}
	return n.GetToken().Value
}

// unspaced returns the text that has a colon in it and no space behind that, as
// in {brokers: [kafka:9092]}: within braces the parser takes it for a mapping.
func unspaced(n *ast.MappingNode) (string, bool) {
	if len(n.Values) != 1 {
		return "", false
	}
	switch n.Values[0].Value.(type) {
	case *ast.IntegerNode, *ast.StringNode:
	default:
		return "", false
	}
	before, behind := n.Values[0].Key.GetToken(), n.Values[0].Value.GetToken()
	return before.Value + ":" + behind.Value, before.Type == token.StringType && strings.HasPrefix(behind.Origin, behind.Value)
}

// mapping decodes settings by name. The parser has refused a name given twice.
func (d *decoder) mapping(path string, values []*ast.MappingValueNode, v reflect.Value) {
	for _, kv := range values {
		name, line := kv.Key.GetToken().Value, lineOf(kv.Key)
		at := strings.TrimPrefix(path+"."+name, ".")
		i := slices.Index(names(v.Type()), name)
		if i < 0 {
			d.fail(line, "unknown setting %q; known here: %s", at, strings.Join(names(v.Type()), ", "))
			continue
		}
		d.value(at, kv.Value, v.Field(i), v.Type().Field(i).Tag)
		d.where[at] = line
	}
}

func (d *decoder) sequence(path string, n *ast.SequenceNode, v reflect.Value) {
	list := reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values))
	for i, item := range n.Values {
		setDefaults(list.Index(i))
		d.value(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i), "")
	}
	v.Set(list)
}

// names returns the settings of a struct; index i is field i, since what is no
// setting stands last.
func names(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// setDefaults gives every setting in v its declared default.
func setDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range names(v.Type()) {
		field, tag := v.Field(i), v.Type().Field(i).Tag
		value, ok := tag.Lookup("default")
		switch _, scalar := scalarName(field); {
		case !scalar && field.Kind() == reflect.Struct:
			setDefaults(field)
		case !ok:
		case field.Kind() == reflect.Slice:
			field.Set(reflect.ValueOf(strings.Split(strings.Trim(value, "[]"), ",")))
		default:
			if err := setScalar(field, value, tag); err != nil {
				panic("default of " + tag.Get("yaml") + ": " + err.Error()) // a declaration of ours is wrong
			}
		}
	}
}

// scalarName says what a scalar setting is called, or that v is none.
func scalarName(v reflect.Value) (string, bool) {
	switch v.Interface().(type) {
	case string:
		return `a text (in quotes, if ":" or "[" is in it)`, true
	case int:
		return "a whole number", true
	case bool:
		return "true or false", true
	case Duration:
		return "a duration", true
	case Size:
		return "a size", true
	case Secret:
		return "a reference to a secret", true
	case Password:
		return "a reference to a password, or a hash", true
	}
	return "", false
}

// setScalar parses s into v and holds it against the limits in tag.
func setScalar(v reflect.Value, s string, tag reflect.StructTag) error {
	parsed, err := parseScalar(v, s)
	if err != nil {
		return err
	}
	v.Set(reflect.ValueOf(parsed))
	if choices := tag.Get("enum"); choices != "" && !slices.Contains(strings.Split(choices, ","), s) {
		return fmt.Errorf("%q is not one of %s", s, strings.ReplaceAll(choices, ",", ", "))
	}
	if limit := tag.Get("min"); limit != "" {
		if low, err := parseScalar(v, limit); err == nil && v.Int() < reflect.ValueOf(low).Int() {
			return fmt.Errorf("%s is less than %s", s, limit)
		}
	}
	if limit := tag.Get("max"); limit != "" {
		if high, err := parseScalar(v, limit); err == nil && v.Int() > reflect.ValueOf(high).Int() {
			return fmt.Errorf("%s is more than %s", s, limit)
		}
	}
	return nil
}

func parseScalar(v reflect.Value, s string) (any, error) {
	switch v.Interface().(type) {
	case int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", s)
		}
		return n, nil
	case bool:
		if s != "true" && s != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", s)
		}
		return s == "true", nil
	case Duration:
		return parseDuration(s)
	case Size:
		return parseSize(s)
	case Secret:
		return parseSecret(s)
	case Password:
		return parsePassword(s)
	}
	return s, nil
}
