package s3

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// Alibaba Cloud OSS speaks S3's protocol at hosts of its own, with the bucket before the
// host, without tags, and with credentials of its own
// (https://www.alibabacloud.com/help/en/oss/developer-reference/compatibility-with-amazon-s3).

const (
	// defaultOSS is the predecessor's default.
	defaultOSS = "https://oss-cn-hangzhou.aliyuncs.com"
	ossDomain  = ".aliyuncs.com"
	// stsTimeout bounds one request for the keys of a role.
	stsTimeout = 10 * time.Second
	// maxSTSAnswer is far more than keys and a token are.
	maxSTSAnswer = 64 << 10
)

// The keys of a Secret for OSS.
const (
	ossKeyID     = "accessKeyID"
	ossKeySecret = "accessKeySecret"
	ossToken     = "securityToken"
)

// ossEndpoint is the host of a region that speaks S3, and the region: users name the host
// that speaks OSS' own protocol, as its SDKs do.
func ossEndpoint(endpoint string) (s3Endpoint, region string) {
	endpoint = cmp.Or(endpoint, defaultOSS)
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint, ""
	}
	host, ok := strings.CutSuffix(strings.ToLower(u.Hostname()), ossDomain)
	if !ok {
		return endpoint, "" // a domain of the user's
	}
	host = strings.TrimPrefix(host, "s3.")
	region, ok = strings.CutPrefix(host, "oss-")
	if !ok {
		return endpoint, ""
	}
	u.Host = strings.Replace(strings.ToLower(u.Host), strings.ToLower(u.Hostname()), "s3."+host+ossDomain, 1)
	return u.String(), strings.TrimSuffix(region, "-internal")
}

// ossCredentials are those of the mounted Secret, or else of the RAM role that the Pod's
// ServiceAccount may assume (RRSA).
func ossCredentials(dir string, client *http.Client) aws.CredentialsProvider {
	if dir != "" {
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return ossSecret(dir) })
	}
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) { return assumeRAMRole(ctx, client) }))
}

func ossSecret(dir string) (aws.Credentials, error) {
	values := map[string]string{}
	for _, name := range []string{ossKeyID, ossKeySecret, ossToken} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return aws.Credentials{}, err
		}
		values[name] = strings.TrimSpace(string(content))
	}
	if values[ossKeyID] == "" || values[ossKeySecret] == "" {
		return aws.Credentials{}, fmt.Errorf("the Secret needs the keys %s and %s", ossKeyID, ossKeySecret)
	}
	return aws.Credentials{AccessKeyID: values[ossKeyID], SecretAccessKey: values[ossKeySecret], SessionToken: values[ossToken], Source: "Secret"}, nil
}

// assumeRAMRole exchanges the token of the ServiceAccount, which ACK's webhook mounts with
// these variables, for keys. The request is not signed: the token stands for the signature
// (https://www.alibabacloud.com/help/en/ram/developer-reference/api-sts-2015-04-01-assumerolewithoidc).
func assumeRAMRole(ctx context.Context, client *http.Client) (aws.Credentials, error) {
	role, provider, file := os.Getenv("ALIBABA_CLOUD_ROLE_ARN"), os.Getenv("ALIBABA_CLOUD_OIDC_PROVIDER_ARN"), os.Getenv("ALIBABA_CLOUD_OIDC_TOKEN_FILE")
	if role == "" || provider == "" || file == "" {
		return aws.Credentials{}, errors.New("there are none: no Secret is named, and the Pod has no RAM role")
	}
	token, err := os.ReadFile(file)
	if err != nil {
		return aws.Credentials{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stsTimeout)
	defer cancel()
	form := url.Values{
		"Action": {"AssumeRoleWithOIDC"}, "Version": {"2015-04-01"}, "Format": {"JSON"}, "Timestamp": {time.Now().UTC().Format(time.RFC3339)},
		"RoleArn": {role}, "OIDCProviderArn": {provider}, "OIDCToken": {string(token)}, "RoleSessionName": {"etcd-operators"},
	}
	host := cmp.Or(os.Getenv("ALIBABA_CLOUD_STS_ENDPOINT"), "sts"+ossDomain)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/", strings.NewReader(form.Encode()))
	if err != nil {
		return aws.Credentials{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(req)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("ask %s for the keys of %s: %w", host, role, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	var answer struct {
		Code, Message string
		Credentials   struct {
			AccessKeyID     string `json:"AccessKeyId"`
			AccessKeySecret string
			SecurityToken   string
			Expiration      time.Time
		}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxSTSAnswer)).Decode(&answer); err != nil {
		return aws.Credentials{}, fmt.Errorf("ask %s for the keys of %s: status %d: %w", host, role, resp.StatusCode, err)
	}
	if resp.StatusCode != http.StatusOK {
		return aws.Credentials{}, fmt.Errorf("%s refuses the keys of %s: %s: %s", host, role, answer.Code, answer.Message)
	}
	c := answer.Credentials
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.AccessKeySecret, SessionToken: c.SecurityToken, CanExpire: true, Expires: c.Expiration, Source: "RRSA"}, nil
}

// configureOSS makes the SDK's configuration for OSS: nothing of it comes from AWS' files or
// variables.
func (s *Store) configureOSS(context.Context) (aws.Config, error) {
	settings := &s.settings
	endpoint, region := ossEndpoint(settings.Endpoint)
	settings.Endpoint, settings.ForcePathStyle, settings.Tags = endpoint, false, nil
	settings.Region = cmp.Or(region, settings.Region, DefaultRegion)
	cfg := aws.Config{
		Region: settings.Region, HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(tune),
		Credentials: ossCredentials(settings.SecretDir, &http.Client{Transport: http.DefaultTransport}),
	}
	s.checksum = aws.RequestChecksumCalculationWhenRequired
	if settings.CADir == "" {
		return cfg, nil
	}
	pem, err := objectstore.ReadCAs(settings.CADir, "oss")
	if err == nil && !isPEM(pem) {
		err = objectstore.Because(objectstore.InvalidSettings, errors.New("the store's CA (oss.caSecret) holds no certificate: write it in PEM, beginning with -----BEGIN CERTIFICATE-----"))
	}
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(tune, trust(pem))
	return cfg, err
}
