package v1beta2

import "testing"

func TestS3Source(t *testing.T) {
	cases := map[string]struct {
		in                    S3Source
		bucket, key, endpoint string
	}{
		"plain":           {in: S3Source{Path: "bucket/key"}, bucket: "bucket", key: "key"},
		"folders":         {in: S3Source{Path: "b/a/b/c", Endpoint: "http://minio:9000"}, bucket: "b", key: "a/b/c", endpoint: "http://minio:9000"},
		"no slash":        {in: S3Source{Path: "bucket"}},
		"no scheme":       {in: S3Source{Path: "b/k", Endpoint: "s3.example.com"}, bucket: "b", key: "k", endpoint: "https://s3.example.com"},
		"slash in front":  {in: S3Source{Path: "b//k"}, bucket: "b", key: "/k"},
		"slash at an end": {in: S3Source{Path: "b/k/"}, bucket: "b", key: "k/"},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			bucket, key := tc.in.BucketAndKey()
			if bucket != tc.bucket || key != tc.key {
				t.Errorf("bucket %q and key %q, want %q and %q", bucket, key, tc.bucket, tc.key)
			}
			if got := tc.in.EndpointURL(); got != tc.endpoint {
				t.Errorf("endpoint %q, want %q", got, tc.endpoint)
			}
		})
	}
}

func TestReadableSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0:               "0 B",
		1023:            "1023 B",
		1024:            "1.0 KiB",
		20 << 10:        "20.0 KiB",
		1<<20 - 1:       "1.0 MiB",
		25<<20 + 50<<10: "25.0 MiB",
		3 << 29:         "1.5 GiB",
		1 << 40:         "1.0 TiB",
		1<<63 - 1:       "8.0 EiB",
	} {
		if got := ReadableSize(bytes); got != want {
			t.Errorf("ReadableSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}
