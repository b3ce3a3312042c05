package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// resultFile is the kubelet's default.
const resultFile = "/dev/termination-log"

// Write reports a result: to the termination message, or, if path isn't empty, to that
// file. texts point into the result: where it is too long, their ends are left out, of the
// first one first.
func Write(path string, result any, texts ...*string) error {
	content, err := encode(result, texts)
	if err != nil {
		return err
	}
	return os.WriteFile(cmp.Or(path, resultFile), content, 0o644)
}

// encode makes the JSON of a result, with words left out if there are too many.
func encode(result any, texts []*string) ([]byte, error) {
	for {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(result); err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
		if out.Len() <= agent.MaxMessage || !shorten(texts) {
			return out.Bytes(), nil
		}
	}
}

// ellipsis stands for the words that were left out.
const ellipsis = " …"

// shorten takes an eighth off the end of the first text that is still of some length.
func shorten(texts []*string) bool {
	for _, text := range texts {
		runes := []rune(*text)
		if len(runes) <= 100 {
			continue
		}
		*text = string(runes[:len(runes)*7/8-len(ellipsis)]) + ellipsis
		return true
	}
	return false
}
