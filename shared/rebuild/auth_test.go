package rebuild

import (
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/protobuf/proto"
)

func TestFindUser(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("of then"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]string{"broken": "\xff"}
	for _, u := range []*authpb.User{
		{Name: []byte("root"), Password: hash, Roles: []string{"root"}},
		{Name: []byte("reader"), Password: hash, Roles: []string{"reading", "more"}, Options: &authpb.UserAddOptions{}},
		{Name: []byte("named"), Roles: []string{"root"}, Options: &authpb.UserAddOptions{NoPassword: true}},
	} {
		value, err := proto.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		users[string(u.Name)] = string(value)
	}
	f := openFile(t, build(t, content{events: some(20), meta: of36, users: users, auth: true}))
	if info, err := Inspect(t.Context(), f); err != nil || !info.AuthEnabled {
		t.Errorf("got %+v, %v", info, err)
	}
	for name, want := range map[string]struct{ there, root, accepts bool }{
		"root":     {true, true, true},
		"reader":   {true, false, true},
		"named":    {true, true, false},
		"nobody":   {},
		"":         {},
		"root\x00": {},
	} {
		u, err := FindUser(t.Context(), f, name)
		if err != nil || (u != nil) != want.there {
			t.Errorf("%q: got %v, %v", name, u, err)
			continue
		}
		if u != nil && (u.IsRoot() != want.root || u.Accepts("of then") != want.accepts || u.Accepts("of now") || u.Accepts("")) {
			t.Errorf("%q: got %+v", name, u)
		}
	}
	if _, err := FindUser(t.Context(), f, "broken"); err == nil {
		t.Error("a user that is none was read")
	}
	f = openFile(t, build(t, content{events: some(20), meta: of36, without: bucketAuthUsers}))
	if u, err := FindUser(t.Context(), f, "root"); u != nil || err != nil {
		t.Errorf("without users: got %v, %v", u, err)
	}
	if info, err := Inspect(t.Context(), f); err != nil || info.AuthEnabled {
		t.Errorf("not enabled: got %+v, %v", info, err)
	}
}
