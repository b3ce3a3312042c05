package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// hashLength is how many hexadecimal digits tell apart the EtcdBackups whose names are
// too long for a label: 40 bits.
const hashLength = 10

// labelComponent is the recommended label for what an object is a part of.
const labelComponent = "app.kubernetes.io/component"

// Selector is the labels that select the Jobs and Pods of an EtcdBackup, and hardly
// ever those of another: owner references tell for sure.
func Selector(backup string) map[string]string {
	return map[string]string{
		v1beta2.LabelApp:    v1beta2.AppEtcdBackup,
		v1beta2.LabelBackup: labelValue(backup),
	}
}

// Labels are those on the Jobs and Pods of an EtcdBackup.
func Labels(backup string) map[string]string {
	l := Selector(backup)
	l[v1beta2.LabelName] = v1beta2.AppEtcdBackup
	l[v1beta2.LabelInstance] = labelValue(backup)
	l[v1beta2.LabelManagedBy] = v1beta2.ManagedByBackup
	l[labelComponent] = "backup"
	return l
}

// labelValue is an object's name as a label may hold it.
func labelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := strings.TrimRight(name[:validation.LabelValueMaxLength-1-hashLength], "-.")
	return head + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
