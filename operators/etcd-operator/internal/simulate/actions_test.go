package simulate

import (
	"os"
	"path/filepath"
	"regexp"
)

// actionKinds are the kinds of all actions, read from where they are declared.
var actionKinds = declaredActions("../plan/action")

// declaredActions also sees to it that an action's kind is its type's name.
func declaredActions(dir string) []string {
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		panic("no source in " + dir)
	}
	var source []byte
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		source = append(source, text...)
	}
	var kinds []string
	for _, m := range regexp.MustCompile(`func \((?:\w+ )?(\w+)\) traits\(\) +traits +\{\s*return traits\{kind: "(\w+)"|\) traits\(\)`).FindAllSubmatch(source, -1) {
		if string(m[1]) != string(m[2]) || len(m[1]) == 0 {
			panic(string(m[0]) + ": the kind of an action is to be the name of its type, and come first")
		}
		kinds = append(kinds, string(m[1]))
	}
	return kinds
}
