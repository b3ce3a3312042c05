package abs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// The keys of a Secret for Azure, which are coreos/etcd-operator's.
const (
	accountKey = "storage-account"
	keyKey     = "storage-key"
	cloudKey   = "cloud"
)

// secret is what a Secret says.
type secret struct{ account, key, domain string }

// accountPattern is that of Azure's names of storage accounts.
var accountPattern = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// clouds are where storage accounts are, by the names that coreos/etcd-operator took, in
// capitals.
var clouds = []struct{ name, domain string }{
	{"AZUREPUBLICCLOUD", "core.windows.net"},
	{"AZURECLOUD", "core.windows.net"},
	{"AZURECHINACLOUD", "core.chinacloudapi.cn"},
	{"AZUREUSGOVERNMENTCLOUD", "core.usgovcloudapi.net"},
	{"AZUREUSGOVERNMENT", "core.usgovcloudapi.net"},
}

func readSecret(dir string) (secret, error) {
	values := map[string]string{}
	for _, name := range []string{accountKey, keyKey, cloudKey} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return secret{}, objectstore.Because(objectstore.CredentialsInvalid, err)
		}
		values[name] = strings.TrimSpace(string(content))
	}
	if values[accountKey] == "" || values[keyKey] == "" {
		return secret{}, objectstore.Because(objectstore.CredentialsInvalid, fmt.Errorf("the Secret needs the keys %s and %s, or does not exist", accountKey, keyKey))
	}
	if !accountPattern.MatchString(values[accountKey]) {
		return secret{}, objectstore.Because(objectstore.CredentialsInvalid, fmt.Errorf("%s is not the name of a storage account: those have 3 to 24 lower-case letters and digits", accountKey))
	}
	s := secret{account: values[accountKey], key: values[keyKey], domain: clouds[0].domain}
	if cloud := values[cloudKey]; cloud != "" {
		i := slices.IndexFunc(clouds, func(c struct{ name, domain string }) bool { return c.name == strings.ToUpper(cloud) })
		if i < 0 {
			return secret{}, objectstore.Because(objectstore.InvalidSettings, fmt.Errorf("the key %s of the Secret is %q: set it to AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud, or remove it and set abs.endpoint", cloudKey, cloud))
		}
		s.domain = clouds[i].domain
	}
	return s, nil
}

// secretName is how a person is told of the Secret.
func (s Settings) secretName() string {
	if s.Secret == "" {
		return "the Secret that abs.absSecret names"
	}
	return "Secret " + s.Secret
}

// credentialsAdvice says what to correct where the store refuses the credentials.
func (s Settings) credentialsAdvice() string {
	if s.SecretDir == "" {
		return "the credentials are not valid: correct the workload identity of the Pod's ServiceAccount (pod.serviceAccountName), or name a Secret with storage-account and storage-key in abs.absSecret"
	}
	return "the credentials are not valid: correct the keys " + accountKey + " and " + keyKey + " of " + s.secretName()
}
