package snapshotcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// Options say where to look.
type Options struct {
	// Endpoint is the URL of the S3 store; empty without one.
	Endpoint string
	// Region, AccessKey and SecretKey are the store's.
	Region, AccessKey, SecretKey string
	// Volume is a folder; empty without one.
	Volume string
	// Work is a folder for what is unpacked.
	Work string
}

// Inspector looks at what is stored in one S3 store, on one volume, or both.
type Inspector struct {
	o  Options
	s3 *s3.Client
}

// New makes an Inspector.
func New(o Options) *Inspector {
	return &Inspector{o: o, s3: s3.New(s3.Options{
		BaseEndpoint: aws.String(o.Endpoint), Region: o.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, ""),
	})}
}

// Object is one that is stored.
type Object struct {
	// Name is the key in its bucket, or the path on the volume.
	Name string `json:"name"`
	Size int64  `json:"size"`
	// ETag is that of an object, and changes with its content.
	ETag string `json:"etag,omitempty"`
}

// Handler serves what the Inspector knows as JSON:
//
//	GET  /readyz                     200
//	POST /bucket?bucket=B            makes a bucket
//	POST /object?bucket=B&key=K      stores a small object (struct{})
//	GET  /objects?bucket=B           what is in a bucket ([]Object)
//	GET  /uploads?bucket=B           keys of the uploads that were begun and are neither complete nor aborted ([]string)
//	GET  /files                      what is on the volume ([]Object)
//	POST /damage?bucket=B&key=K&to=T&how=H  stores what lies at K at T, damaged (see Damage; struct{})
//	POST /delete?bucket=B&key=K      deletes an object (struct{})
//	GET  /snapshot?bucket=B&key=K    a snapshot in a bucket (Snapshot)
//	GET  /snapshot?file=F            one on the volume (Snapshot)
//	GET  /keys?bucket=B&key=K        every key that is in a snapshot in a bucket (mirror.Content)
//	GET  /keys?file=F                the same, of one on the volume (mirror.Content)
func (i *Inspector) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(context.Context, func(string) string) (any, error){
		"GET /readyz":   func(context.Context, func(string) string) (any, error) { return struct{}{}, nil },
		"POST /bucket":  i.makeBucket,
		"POST /object":  i.makeObject,
		"GET /objects":  i.objects,
		"GET /uploads":  i.uploads,
		"GET /files":    i.files,
		"POST /damage":  i.damage,
		"POST /delete":  i.remove,
		"GET /snapshot": i.snapshot,
		"GET /keys":     i.keys,
	} {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			v, err := serve(r.Context(), r.URL.Query().Get)
			if err != nil {
				http.Error(rw, err.Error(), http.StatusBadGateway)
				return
			}
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(v) // whoever has gone needs no answer
		})
	}
	return mux
}

func (i *Inspector) makeBucket(ctx context.Context, param func(string) string) (any, error) {
	_, err := i.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(param("bucket"))})
	return struct{}{}, err
}

func (i *Inspector) makeObject(ctx context.Context, param func(string) string) (any, error) {
	_, err := i.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(param("bucket")), Key: aws.String(param("key"))})
	return struct{}{}, err
}

func (i *Inspector) remove(ctx context.Context, param func(string) string) (any, error) {
	_, err := i.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(param("bucket")), Key: aws.String(param("key"))})
	return struct{}{}, err
}

// damage replaces or makes an object.
func (i *Inspector) damage(ctx context.Context, param func(string) string) (_ any, err error) {
	in, err := i.open(ctx, param)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	content, err = Damage(param("how")).to(content)
	if err != nil {
		return nil, err
	}
	_, err = i.s3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(param("bucket")), Key: aws.String(param("to")), Body: bytes.NewReader(content),
	})
	return struct{}{}, err
}

func (i *Inspector) objects(ctx context.Context, param func(string) string) (any, error) {
	all := []Object{}
	pages := s3.NewListObjectsV2Paginator(i.s3, &s3.ListObjectsV2Input{Bucket: aws.String(param("bucket"))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			all = append(all, Object{Name: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), ETag: aws.ToString(o.ETag)})
		}
	}
	return all, nil
}

func (i *Inspector) uploads(ctx context.Context, param func(string) string) (any, error) {
	out, err := i.s3.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String(param("bucket"))})
	if err != nil {
		return nil, err
	}
	keys := []string{}
	for _, u := range out.Uploads {
		keys = append(keys, aws.ToString(u.Key))
	}
	return keys, nil
}

// described is the directory in which backup operators keep what they know of the files
// beside it.
const described = ".etcd-backups"

func (i *Inspector) files(context.Context, func(string) string) (any, error) {
	all := []Object{}
	return all, filepath.WalkDir(i.o.Volume, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == described {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(i.o.Volume, path)
		all = append(all, Object{Name: name, Size: info.Size()})
		return err
	})
}

func (i *Inspector) snapshot(ctx context.Context, param func(string) string) (_ any, err error) {
	in, err := i.open(ctx, param)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return Open(in, i.o.Work, writer.DefaultPrefix)
}

func (i *Inspector) keys(ctx context.Context, param func(string) string) (_ any, err error) {
	in, err := i.open(ctx, param)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return Keys(in, i.o.Work)
}

func (i *Inspector) open(ctx context.Context, param func(string) string) (io.ReadCloser, error) {
	if file := param("file"); file != "" {
		return os.Open(filepath.Join(i.o.Volume, file))
	}
	out, err := i.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(param("bucket")), Key: aws.String(param("key"))})
	if err != nil {
		return nil, err
	}
	return out.Body, nil
}
