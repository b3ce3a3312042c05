package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// option is a flag of a program.
type option struct{ name, typ, defaultValue, help string }

var (
	flagLine    = regexp.MustCompile(`^  -([a-z-]+)(?: ([^\t]+))?(?:\t(.*))?$`)
	flagDefault = regexp.MustCompile(` \(default "?(.*?)"?\)$`)
)

// parseFlags reads what package flag prints for -h.
func parseFlags(help string) ([]option, error) {
	var all []option
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		if m := flagLine.FindStringSubmatch(line); m != nil {
			all = append(all, option{name: m[1], typ: m[2], help: m[3]})
			continue
		}
		if text := strings.TrimSpace(line); len(all) > 0 && text != "" {
			last := &all[len(all)-1]
			last.help = strings.TrimSpace(last.help + " " + text)
		}
	}
	for i := range all {
		if m := flagDefault.FindStringSubmatch(all[i].help); m != nil {
			all[i].defaultValue = m[1]
			all[i].help = strings.TrimSuffix(all[i].help, m[0])
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are none in:\n" + help)
	}
	return all, nil
}

func writeFlags(w *strings.Builder, operator string, all []option) {
	fmt.Fprintf(w, "\n## %s\n", operator)
	rows := make([][]string, 0, len(all))
	for _, o := range all {
		flag, defaultValue := "`--"+o.name+"`", o.defaultValue
		if o.typ != "" {
			flag += " _" + o.typ + "_"
		}
		if defaultValue != "" {
			defaultValue = "`" + defaultValue + "`"
		}
		rows = append(rows, []string{flag, defaultValue, o.help})
	}
	table(w, []string{"Flag", "Default", "Meaning"}, rows)
}
