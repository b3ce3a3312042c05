// Package screen is what the plugin shows: tables, and the one screen of a cluster. All of it is
// made by pure functions from what was read, and is useful without colours.
package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// Format is what -o says.
type Format string

// The formats.
const (
	Text Format = ""
	Wide Format = "wide"
	JSON Format = "json"
	YAML Format = "yaml"
)

// Formats are those that can be asked for.
var Formats = []string{string(JSON), string(YAML), string(Wide)}

// ParseFormat reads the value of -o.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, Wide, JSON, YAML:
		return f, nil
	}
	return "", fmt.Errorf("must be one of %s", strings.Join(Formats, ", "))
}

// IsData is true for what programs read.
func (f Format) IsData() bool { return f == JSON || f == YAML }

// Table is what is shown as rows. Columns whose name begins with + are shown with -o wide only.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Print writes the table as kubectl get does.
func (t *Table) Print(w io.Writer, f Format) error {
	table := &metav1.Table{}
	for _, name := range t.Columns {
		column := metav1.TableColumnDefinition{Name: name, Type: "string"}
		if hidden, ok := strings.CutPrefix(name, "+"); ok {
			column.Name, column.Priority = hidden, 1
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, column)
	}
	for _, row := range t.Rows {
		cells := make([]any, len(row))
		for i, cell := range row {
			cells[i] = cell
			if cell == "" {
				cells[i] = "-"
			}
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return printers.NewTablePrinter(printers.PrintOptions{Wide: f == Wide}).PrintObj(table, w)
}

// Print writes a value as JSON or YAML, and else by show.
func Print(w io.Writer, f Format, value any, show func() error) error {
	switch f {
	case JSON:
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, string(data))
		return err
	case YAML:
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case Text, Wide:
	}
	return show()
}

// PrintNext writes one of several values: in YAML, each is a document that begins with a line of its own.
func PrintNext(w io.Writer, f Format, value any, show func() error) error {
	if f == YAML {
		fmt.Fprintln(w, "---")
	}
	return Print(w, f, value, show)
}

// Age is how long ago something was, as kubectl shows it; empty for the zero time.
func Age(now, then time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(then))
}

// Bytes is a size for people, such as 25.0 MiB.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, units := float64(n)/unit, "KMGT"
	for size >= unit && len(units) > 1 {
		size, units = size/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", size, units[0])
}

// width is where lines of prose are broken: what a terminal of 80 columns, widened a little by
// most, still shows.
const width = 100

// wrap breaks prose into lines, all but the first of which are indented.
func wrap(text string, indent int) string {
	var out strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String()
}
