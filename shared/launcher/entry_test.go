package launcher

import "testing"

// S2: a member that has started has published its name and its client URLs.
func TestHasStarted(t *testing.T) {
	own := []string{testMember.PeerURL}
	for name, tc := range map[string]struct {
		list []Entry
		want bool
	}{
		"not listed":                    {nil, false},
		"added":                         {[]Entry{{PeerURLs: own}}, false},
		"started":                       {[]Entry{{PeerURLs: own, Name: "a", ClientURLs: []string{"http://a:2379"}}}, true},
		"started, and only its name":    {[]Entry{{PeerURLs: own, Name: "a"}}, true},
		"started without a name":        {[]Entry{{PeerURLs: own, ClientURLs: []string{"http://a:2379"}}}, true},
		"started, and has a second URL": {[]Entry{{PeerURLs: []string{"http://b:1", testMember.PeerURL}, Name: "a"}}, true},
		"another one has started":       {[]Entry{{PeerURLs: own}, {PeerURLs: []string{"http://b:1"}, Name: "b"}}, false},
	} {
		if got := hasStarted(tc.list, testMember); got != tc.want {
			t.Errorf("%s: hasStarted is %t, want %t", name, got, tc.want)
		}
	}
}
