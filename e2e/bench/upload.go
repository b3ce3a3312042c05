package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/objectstore/s3"
)

const (
	// uploadSize is that of the stream, whose bytes cannot be compressed.
	uploadSize = 512 << 20
	// uploaderVariable makes this program the process that uploads, so that its memory
	// can be watched; storeURLVariable and secretVariable say where to, and as whom.
	uploaderVariable = "BENCH_UPLOADER"
	storeURLVariable = "BENCH_STORE"
	secretVariable   = "BENCH_SECRET"
)

// uploader stores a stream whose length it is not told.
type uploader struct {
	name string
	put  func(context.Context, io.Reader) error
}

// uploaders are package objectstore/s3 and, beside it, the SDK's transfer manager: as it is by
// default, and with the parts, the buffers and the checksums of ours.
var uploaders = []uploader{
	{"objectstore", putOurs},
	{"transfermanager", putSDK(func(*transfermanager.Options) {})},
	{"transfermanager, 5 MiB parts", putSDK(func(o *transfermanager.Options) {
		o.PartSizeBytes, o.MultipartUploadThreshold, o.Concurrency = 5<<20, 5<<20, 2
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	})},
}

func putOurs(ctx context.Context, r io.Reader) error {
	store, err := s3.Open(ctx, s3.Settings{
		Bucket: bucket, Endpoint: os.Getenv(storeURLVariable), ForcePathStyle: true, SecretDir: os.Getenv(secretVariable)})
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, "upload", r, objectstore.PutOptions{})
	return err
}

func putSDK(options func(*transfermanager.Options)) func(context.Context, io.Reader) error {
	return func(ctx context.Context, r io.Reader) error {
		_, err := transfermanager.New(storeClient(os.Getenv(storeURLVariable)), options).UploadObject(ctx,
			&transfermanager.UploadObjectInput{Bucket: aws.String(bucket), Key: aws.String("upload"), Body: r})
		return err
	}
}

// uploadAs is the process that uploads. It prints how long that took.
func uploadAs(name string) error {
	for _, u := range uploaders {
		if u.name != name {
			continue
		}
		stream := struct{ io.Reader }{io.LimitReader(rand.NewChaCha8([32]byte{}), uploadSize)}
		began := time.Now()
		err := u.put(context.Background(), stream)
		fmt.Println(time.Since(began))
		return err
	}
	return fmt.Errorf("unknown uploader %q", name)
}

// measureUpload measures package objectstore over the SDK's transfer manager.
func measureUpload(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "etcd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := &rig{dir: dir}
	stop, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	took, most := make([]times, len(uploaders)), make([]int64, len(uploaders))
	for round := range b.plan.rounds + 1 { // the first finds caches cold, and does not count
		var said []string
		for i := range uploaders {
			i = (i + round) % len(uploaders) // none is always the first
			d, memory, err := r.uploadBy(ctx, uploaders[i].name)
			if err != nil {
				return fmt.Errorf("%s: %w", uploaders[i].name, err)
			}
			said = append(said, fmt.Sprintf("%s %s s, %d MiB", uploaders[i].name, seconds(d), memory>>20))
			if round > 0 {
				took[i], most[i] = append(took[i], d), max(most[i], memory)
			}
		}
		b.say("upload of 512 MiB: %s", strings.Join(said, "; "))
	}
	for i, u := range uploaders[1:] {
		var ratios []float64 // in each round, as the machine is not equally busy in all of them
		for round, ours := range took[0] {
			ratios = append(ratios, ours.Seconds()/took[i+1][round].Seconds())
		}
		slices.Sort(ratios)
		b.table.note(fmt.Sprintf("upload of 512 MiB by objectstore, relative to %s", u.name),
			fmt.Sprintf("%.2fx: %s over %s; memory %.2fx: %d MiB over %d MiB", ratios[len(ratios)/2], took[0], took[i+1],
				float64(most[0])/float64(most[i+1]), most[0]>>20, most[i+1]>>20))
	}
	return nil
}

// uploadBy uploads in a process of its own, with the garbage collector of the agents. It
// returns how long that took, and how much memory it had at most, in bytes.
func (r *rig) uploadBy(ctx context.Context, name string) (time.Duration, int64, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), uploaderVariable+"="+name, storeURLVariable+"="+r.store, secretVariable+"="+r.path("secret"), "GOGC=10")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	memory, err := watchMemory(cmd.Process.Pid, ownMemory, ended)
	took, parsing := time.ParseDuration(strings.TrimSpace(out.String()))
	return took, memory, errors.Join(err, parsing, r.remove(ctx, "upload"))
}
