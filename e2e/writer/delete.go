package writer

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Delete deletes all keys that begin with a prefix, as a person does by mistake, and tells the
// revision of that.
func (w *Writer) Delete(ctx context.Context, prefix string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	got, err := w.client().Delete(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return 0, fmt.Errorf("delete %s: %w", prefix, err)
	}
	if got.Deleted == 0 {
		return 0, fmt.Errorf("no key begins with %s", prefix)
	}
	return got.Header.Revision, nil
}
