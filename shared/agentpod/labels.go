package agentpod

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelComponent is the recommended label for what an object is a part of.
const LabelComponent = "app.kubernetes.io/component"

// hashLength is how many hexadecimal digits tell apart the objects whose names are too
// long for a label: 40 bits.
const hashLength = 10

// LabelValue is an object's name as a label may hold it: of one that is too long, a
// shortened form with a hash.
func LabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:validation.LabelValueMaxLength-1-hashLength], "-.")
	return head + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
