package charts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// schemaMark begins the comment with what the schema says of a value beside its type.
const schemaMark = "@schema "

// A Value is a key of values.yaml.
type Value struct {
	// Path is the key with those above it, such as image.tag.
	Path string
	// Text is the comment above it, and Default the value as JSON.
	Text, Default string
	// Children are the keys in it; none if a user sets it as a whole.
	Children []*Value

	name  string
	extra map[string]any
	node  *yaml.Node
}

// Values returns the keys that a chart's values.yaml documents, without those that only hold others.
func Values(text []byte) ([]*Value, error) {
	root, err := parseValues(text)
	if err != nil {
		return nil, err
	}
	return root.leaves(), nil
}

func parseValues(text []byte) (*Value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("there is no map of values")
	}
	root := &Value{node: document.Content[0]}
	return root, root.fill()
}

// fill reads the keys of a map.
func (v *Value) fill() error {
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		child := &Value{name: key.Value, Path: strings.TrimPrefix(v.Path+"."+key.Value, "."), node: node}
		if err := child.comment(key.HeadComment); err != nil {
			return fmt.Errorf("%s: %w", child.Path, err)
		}
		if node.Kind == yaml.MappingNode && (child.extra == nil || child.Path == "global") {
			if err := child.fill(); err != nil {
				return err
			}
		} else if err := child.whole(); err != nil {
			return fmt.Errorf("%s: %w", child.Path, err)
		}
		v.Children = append(v.Children, child)
	}
	return nil
}

// comment reads what is written above a key; a paragraph before it belongs to nothing.
func (v *Value) comment(head string) error {
	paragraphs := strings.Split(head, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		if extra, ok := strings.CutPrefix(line, schemaMark); ok {
			if err := json.Unmarshal([]byte(extra), &v.extra); err != nil {
				return fmt.Errorf("%s: %w", schemaMark, err)
			}
			continue
		}
		words = append(words, line)
	}
	v.Text = strings.TrimSpace(strings.Join(words, " "))
	return nil
}

// whole reads a value that is no map of further keys.
func (v *Value) whole() error {
	if v.Text == "" {
		return errors.New("no comment says what it is for")
	}
	var value any
	if err := v.node.Decode(&value); err != nil {
		return err
	}
	text, err := json.Marshal(value)
	v.Default = string(text)
	return err
}

func (v *Value) leaves() []*Value {
	if len(v.Children) == 0 {
		return []*Value{v}
	}
	var all []*Value
	for _, child := range v.Children {
		all = append(all, child.leaves()...)
	}
	return all
}

// types are JSON schema's names of YAML's types.
var types = map[string]string{"!!str": "string", "!!int": "integer", "!!bool": "boolean", "!!seq": "array", "!!map": "object"}

func (v *Value) typ() string { return types[v.node.ShortTag()] }

// schema is what values are right, as a JSON schema.
func (v *Value) schema() map[string]any {
	s := map[string]any{"type": v.typ()}
	if v.Text != "" {
		s["description"] = v.Text
	}
	if len(v.Children) > 0 {
		properties := map[string]any{}
		for _, child := range v.Children {
			properties[child.name] = child.schema()
		}
		s["properties"], s["additionalProperties"] = properties, false
	}
	maps.Copy(s, v.extra)
	return s
}
