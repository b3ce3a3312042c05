package rebuild

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"

	"go.etcd.io/bbolt"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/encoding/protowire"
)

// The buckets of etcd's authentication, and the key that tells whether it is enabled
// (server/storage/schema/auth.go).
const (
	bucketAuth      = "auth"
	bucketAuthUsers = "authUsers"
	keyAuthEnabled  = "authEnabled"
)

// RootRole is the role that etcd demands for changes of members and for maintenance.
const RootRole = "root"

// The fields of a User (api/authpb/auth.proto).
const (
	fieldPassword protowire.Number = 2
	fieldRoles    protowire.Number = 3
)

// User is a user of etcd's authentication.
type User struct {
	Roles []string
	// hash is by bcrypt; empty for a user who has no password.
	hash []byte
}

// IsRoot tells whether the user may do all.
func (u *User) IsRoot() bool { return slices.Contains(u.Roles, RootRole) }

// Accepts tells whether it is the user's password. It takes some 100 ms.
func (u *User) Accepts(password string) bool {
	return len(u.hash) > 0 && bcrypt.CompareHashAndPassword(u.hash, []byte(password)) == nil
}

// enables tells whether an element of the bucket auth enables authentication.
func enables(e element) bool {
	return string(e.key) == keyAuthEnabled && bytes.Equal(e.value, []byte{1})
}

// DisableAuth disables authentication in the data dir that [Restore] has made, and changes
// nothing else: users and roles stay.
func DisableAuth(dataDir string) (err error) {
	defer faults(&err)()
	db, err := openBolt(databaseIn(dataDir))
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketAuth))
		if b == nil || b.Get([]byte(keyAuthEnabled)) == nil {
			return nil // it never was enabled
		}
		return b.Put([]byte(keyAuthEnabled), []byte{0})
	})
	return errors.Join(err, db.Close())
}

// FindUser finds a user in a database file that was inspected before; nil if there is no
// such user.
func FindUser(ctx context.Context, f *os.File, name string) (user *User, err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return nil, err
	}
	defer d.close()
	w := d.newWalk()
	buckets, err := d.buckets(ctx, w)
	if err != nil || buckets[bucketAuthUsers] == nil {
		return nil, err
	}
	err = w.bucket(ctx, buckets[bucketAuthUsers], func(e element) error {
		if string(e.key) != name {
			return nil
		}
		user, err = parseUser(e.value)
		return err
	})
	return user, err
}

// parseUser reads a User, of which nothing stays in the file.
func parseUser(rest []byte) (*User, error) {
	u := &User{}
	for len(rest) > 0 {
		number, wire, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil, damaged("a user of its authentication is not what etcd writes")
		}
		rest = rest[n:]
		if number != fieldPassword && number != fieldRoles || wire != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, wire, rest); n < 0 {
				return nil, damaged("a user of its authentication is not what etcd writes")
			}
			rest = rest[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(rest)
		if n < 0 {
			return nil, damaged("a user of its authentication is not what etcd writes")
		}
		if rest = rest[n:]; number == fieldPassword {
			u.hash = bytes.Clone(value)
		} else {
			u.Roles = append(u.Roles, string(value))
		}
	}
	return u, nil
}
