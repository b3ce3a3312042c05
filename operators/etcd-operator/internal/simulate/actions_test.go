package simulate

import (
	"os"
	"regexp"
)

// actionKinds are the kinds of all actions, read from where they are declared.
var actionKinds = declaredActions("../plan/decision.go")

// declaredActions also sees to it that an action's kind is its type's name.
func declaredActions(path string) []string {
	source, err := os.ReadFile(path)
	if err != nil {
		panic(err)
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
