package agentpod

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// LabelComponent is the recommended label for what an object is a part of.
const LabelComponent = "app.kubernetes.io/component"

// hashLength is how many hexadecimal digits tell apart the objects whose names are too
// long for a label: 40 bits.
const hashLength = 10

// labelAzureIdentity is what Azure's webhook asks of a Pod that is to have an identity
// (https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html#pod).
const labelAzureIdentity = "azure.workload.identity/use"

// IdentityLabels are those of Pods that reach a place in a store by the identity of their
// ServiceAccount; s may be nil.
func IdentityLabels(s *v1beta2.StorePlace) map[string]string {
	if s == nil || s.Type != v1beta2.StorageABS || s.AWSSecret != "" {
		return nil
	}
	return map[string]string{labelAzureIdentity: "true"}
}

// LabelValue is an object's name as a label may hold it: of one that is too long, a
// shortened form with a hash.
func LabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:validation.LabelValueMaxLength-1-hashLength], "-.")
	return head + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
