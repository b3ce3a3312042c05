package s3

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// secret is what AWS' files in a Secret say, and where they are.
type secret struct {
	files  map[string][]string
	config config.SharedConfig
}

// secret reads the Secret; nil if there is none. Who writes a Secret has no right to the
// other files of the Pod, nor to its identity: so all that it can hold is keys, and roles
// that are assumed with them. Of these, requests to STS tell no more than a signature.
func (s Settings) secret(ctx context.Context) (*secret, error) {
	if s.SecretDir == "" {
		return nil, nil
	}
	files, err := s.secretFiles()
	if err != nil {
		return nil, err
	}
	shared, err := config.LoadSharedConfigProfile(ctx, profile, func(o *config.LoadSharedConfigOptions) {
		// Not nil: that stands for the files in the home folder.
		o.ConfigFiles, o.CredentialsFiles = append([]string{}, files["config"]...), append([]string{}, files["credentials"]...)
	})
	if err != nil {
		return nil, objectstore.Because(objectstore.CredentialsInvalid, err)
	}
	if err := checkSecret(&shared); err != nil {
		return nil, objectstore.Because(objectstore.CredentialsInvalid, err)
	}
	if shared.RoleARN != "" && s.CADir != "" {
		// Whoever stands for STS reads the role's keys: not for the author of an EtcdBackup.
		return nil, objectstore.Because(objectstore.InvalidSettings, errors.New("role_arn in the Secret's config cannot be combined with s3.caSecret or s3.caConfigMap: remove these, and name the CA in ca_bundle of the Secret's config"))
	}
	return &secret{files, shared}, nil
}

// secretFiles are those of the Secret that hold credentials and settings, in the version
// that is mounted now: what is checked is what is used, although the kubelet mounts others.
func (s Settings) secretFiles() (map[string][]string, error) {
	files := map[string][]string{}
	for _, name := range []string{"credentials", "config"} {
		path, err := filepath.EvalSymlinks(filepath.Join(s.SecretDir, name))
		if err == nil {
			files[name] = []string{path}
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, objectstore.Because(objectstore.CredentialsInvalid, err)
		}
	}
	if len(files) == 0 {
		return nil, objectstore.Because(objectstore.CredentialsInvalid, errors.New("the Secret has neither the key credentials nor the key config, or does not exist"))
	}
	return files, nil
}

// checkSecret refuses credentials that do not come from the Secret itself.
func checkSecret(c *config.SharedConfig) error {
	for ; ; c = c.Source {
		if key := outside(c); key != "" {
			return &secretError{"sets " + key + ", which reaches outside of it"}
		}
		if c.Source == nil {
			break
		}
	}
	if !c.Credentials.HasKeys() {
		return &secretError{"holds no keys"}
	}
	return nil
}

// outside is the setting of a profile that runs a program, reads another file of the Pod or
// uses the Pod's identity; empty if there is none.
func outside(c *config.SharedConfig) string {
	for _, s := range []struct{ key, value string }{
		{"credential_process", c.CredentialProcess},
		{"web_identity_token_file", c.WebIdentityTokenFile},
		{"credential_source", c.CredentialSource},
		{"sso_session", c.SSOSessionName},
		{"sso_start_url", c.SSOStartURL},
		{"sso_account_id", c.SSOAccountID},
		{"sso_role_name", c.SSORoleName},
		{"sso_region", c.SSORegion},
		{"login_session", c.LoginSession},
		{"ec2_metadata_service_endpoint", c.EC2IMDSEndpoint},
	} {
		if s.value != "" {
			return s.key
		}
	}
	return ""
}

// CredentialsAdvice says what to correct where the store refuses the credentials.
func (s Settings) CredentialsAdvice() string {
	const said = "the credentials are not valid: correct "
	if s.OSS {
		if s.SecretDir == "" {
			return said + "the RAM role of the Pod's ServiceAccount (pod.serviceAccountName), or name a Secret with an access key in oss.ossSecret"
		}
		return said + "the keys " + ossKeyID + " and " + ossKeySecret + " of " + s.secretName()
	}
	if s.SecretDir == "" {
		return said + "the cloud's identity of the Pod's ServiceAccount (pod.serviceAccountName), or name a Secret with credentials in s3.awsSecret"
	}
	return said + "aws_access_key_id and aws_secret_access_key under [default] in the key credentials of " + s.secretName()
}

// secretName is how a person is told of the Secret.
func (s Settings) secretName() string {
	if s.Secret == "" {
		if s.OSS {
			return "the Secret that oss.ossSecret names"
		}
		return "the Secret that s3.awsSecret names"
	}
	return "Secret " + s.Secret
}

// secretError is why a Secret is not used.
type secretError struct{ words string }

func (e *secretError) Error() string { return "the Secret " + e.words }

// advice says what to write instead in the Secret of a name.
func (e *secretError) advice(name string) string {
	return name + " " + e.words + ": write aws_access_key_id and aws_secret_access_key under [default] in its key credentials, " +
		"or remove s3.awsSecret and name a ServiceAccount with a cloud's identity in pod.serviceAccountName"
}
