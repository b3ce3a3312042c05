package snapshotcheck

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// Damage is what may happen to what is stored.
type Damage string

// The kinds of damage.
const (
	// Unharmed is none: a copy.
	Unharmed Damage = "unharmed"
	// CutShort lacks the second half.
	CutShort Damage = "cut-short"
	// BitFlipped has one wrong bit, in the middle.
	BitFlipped Damage = "bit-flipped"
	// Replaced is not a snapshot at all.
	Replaced Damage = "replaced"
	// Emptied is nothing.
	Emptied Damage = "emptied"
	// Bare lacks the digest at its end, like a database file that was copied.
	Bare Damage = "bare"
)

func (d Damage) to(content []byte) ([]byte, error) {
	switch d {
	case Unharmed:
		return content, nil
	case CutShort:
		return content[:len(content)/2], nil
	case BitFlipped:
		content = bytes.Clone(content)
		content[len(content)/2] ^= 1
		return content, nil
	case Replaced:
		return bytes.Repeat([]byte("no snapshot at all\n"), len(content)/20+1), nil
	case Emptied:
		return nil, nil
	case Bare:
		if len(content) < sha256.Size {
			return nil, fmt.Errorf("%d bytes hold no digest", len(content))
		}
		return content[:len(content)-sha256.Size], nil
	}
	return nil, fmt.Errorf("%q is no kind of damage", d)
}
