package bugreport

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode"
)

// knownList contains the names whose values can be in a report, in lower case and without separators: fields of
// objects and of log lines, flags and variables of etcd and of the operators. The values of other names are
// redacted. Add a name only if its value is never a secret.
//
//go:embed known.txt
var knownList string

var known = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields(knownList) {
		names[name] = true
	}
	return names
}()

var separators = strings.NewReplacer("-", "", "_", "", ".", "")

// isKnown reports whether the value of a field, flag or variable can be in a report. A variable of etcd counts
// as known if its flag is.
func isKnown(name string) bool {
	return known[separators.Replace(strings.ToLower(strings.TrimPrefix(name, "ETCD_")))]
}

var (
	// pem matches a PEM block, also in JSON or without its end.
	pem = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`)
	// named matches a name before its value: a flag, an assignment, or a JSON field, which can be nested in a
	// JSON string.
	named = regexp.MustCompile(`(\\*")([\w.@/ -]+)(\\*"\s*:\s*)|(?:^|[\s"'\[,(=])(--?)([A-Za-z][\w.-]*)([= \t]+)|([?&;#]|\\u0026)?([A-Za-z_][\w.-]*)( ?:?= ?)`)
	// next matches what follows an unquoted value: another name, or the end of the text.
	next = regexp.MustCompile(`\s--?[A-Za-z]|\s[A-Za-z_][\w.-]* ?=|["\n]|\\+["n]`)
	// nextInQuery is like next, for a value in a URL's query.
	nextInQuery = regexp.MustCompile(`[&;#\s"'<>\\]`)
	// secretive matches prose about a secret, for example "password: x". Prose has no list of allowed names.
	secretive = regexp.MustCompile(`(?i)([\w-]*(?:passw|passphrase|pwd|secret|token|credential|authorization|cookie|api-?key|access-?key|account-?key)[\w-]*: ?)([^"\n\\]+)`)
	// scheme matches an authentication scheme with its credentials.
	scheme = regexp.MustCompile(`(?i)\b(basic|bearer|negotiate|sharedkey|aws4-hmac-sha256) +[^\s",\\]+`)
	// jwt matches a JSON Web Token. key40 matches strings that could be an AWS secret key, and mixed other
	// tokens.
	jwt   = regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?`)
	key40 = regexp.MustCompile(`[A-Za-z0-9/+]{40,}={0,2}`)
	mixed = regexp.MustCompile(`[A-Za-z0-9_+=-]{20,}`)
	// host matches the host and port of a URL, without a user.
	host = regexp.MustCompile(`^(?:[\w.-]+|\[[0-9a-fA-F:.%]+\])(?::[0-9]+)?$`)
)

// Clean redacts all text that is not known to be public: values of names that are not in the list, users in
// URLs, and strings that look like tokens. It redacts too much rather than too little.
func Clean(content []byte) []byte {
	text := pem.ReplaceAllString(string(content), Redacted)
	text = cleanURLs(text)
	text = scheme.ReplaceAllString(text, "${1} "+Redacted)
	text = cleanNamed(text)
	text = secretive.ReplaceAllString(text, "${1}"+Redacted)
	text = jwt.ReplaceAllString(text, Redacted)
	isToken := func(token string) string {
		if strings.ContainsFunc(token, unicode.IsUpper) && strings.ContainsFunc(token, unicode.IsLower) && strings.ContainsFunc(token, unicode.IsDigit) {
			return Redacted
		}
		return token
	}
	return []byte(mixed.ReplaceAllStringFunc(key40.ReplaceAllStringFunc(text, isToken), isToken))
}

// cleanURLs redacts users and passwords in URLs. A password can contain characters that a URL should escape, so
// cleanURLs redacts everything up to the last @ of the line.
func cleanURLs(text string) string {
	first, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	out := &strings.Builder{}
	out.WriteString(first)
	for found {
		var part string
		part, rest, found = strings.Cut(rest, "://")
		line := part
		if i := strings.IndexByte(part, '\n'); i >= 0 {
			line = part[:i]
		}
		quoted := line
		if i := strings.IndexByte(line, '"'); i >= 0 {
			quoted = line[:i]
		}
		authority := quoted
		if i := strings.IndexAny(quoted, "/?#, \t'\\)]}>`"); i >= 0 && !strings.HasPrefix(quoted, "[") {
			authority = quoted[:i]
		}
		out.WriteString("://")
		switch at := strings.LastIndexByte(line, '@'); {
		case strings.Contains(quoted, "@"):
			at = strings.LastIndexByte(quoted, '@')
			out.WriteString(Redacted + part[at:])
		case authority == "" || host.MatchString(authority) || strings.HasPrefix(quoted, "["):
			out.WriteString(part)
		case at >= 0:
			out.WriteString(Redacted + part[at:])
		default:
			out.WriteString(Redacted + part[len(authority):])
		}
	}
	return out.String()
}

// cleanNamed redacts the values of names that are not in the list.
func cleanNamed(text string) string {
	out := &strings.Builder{}
	for {
		m := named.FindStringSubmatchIndex(text)
		if m == nil {
			out.WriteString(text)
			return out.String()
		}
		name := ""
		for _, group := range []int{2, 5, 8} {
			if m[2*group] >= 0 {
				name = text[m[2*group]:m[2*group+1]]
			}
		}
		isQuery, isField := m[14] >= 0, m[4] >= 0
		out.WriteString(text[:m[1]])
		text = text[m[1]:]
		if !isKnown(name) {
			n, instead := value(text, isQuery, isField)
			out.WriteString(instead)
			text = text[n:]
		}
	}
}

// value returns the length of the value at the beginning of a text, and its replacement. An unquoted value of a
// field is a number, a list, or an object whose own fields have names.
func value(text string, isQuery, isField bool) (n int, instead string) {
	quote := text[:len(text)-len(strings.TrimLeft(text, `\`))]
	if rest := text[len(quote):]; rest != "" && (rest[0] == '"' || rest[0] == '\'' && quote == "") {
		quote += rest[:1]
		for at := len(quote); at < len(text); at++ {
			if strings.HasPrefix(text[at:], quote) && (quote[0] == '\\' || text[at-1] != '\\') {
				return at + len(quote), quote + Redacted + quote
			}
		}
		return len(text), Redacted
	}
	end := next.FindStringIndex(text)
	switch {
	case isField && strings.HasPrefix(text, "["):
		if at := strings.IndexAny(text, "]\n"); at >= 0 {
			return at, `["` + Redacted + `"`
		}
		return len(text), Redacted
	case isField:
		return 0, ""
	case isQuery:
		end = nextInQuery.FindStringIndex(text)
	}
	switch {
	case end == nil && text != "":
		return len(text), Redacted
	case end == nil || end[0] == 0:
		return 0, ""
	}
	return end[0], Redacted
}
