package member

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/podsecurity"
)

// Names of a Pod's containers.
const (
	// ContainerEtcd is the first container, the only one in whose image the etcd
	// version is.
	ContainerEtcd = "etcd"
	// ContainerLauncher is the init container that copies the launcher.
	ContainerLauncher = "launcher"
)

// Names and places of a Pod's volumes.
const (
	// VolumeData is where a member keeps its data.
	VolumeData = "etcd-data"

	volumeLauncher = "launcher"
	volumePermit   = "launcher-permit"
	volumeUsed     = "launcher-used"

	// DataMount is where the data volume is mounted; DataDir is a folder in it,
	// so that what a file system keeps at its root (lost+found) is not in etcd's
	// way, and that etcd makes the folder with the mode that it wants.
	DataMount = "/var/etcd"
	// DataDir is etcd's --data-dir.
	DataDir = DataMount + "/data"

	launcherMount = "/launcher"
	launcherPath  = launcherMount + "/etcd-launcher"
	permitMount   = "/etc/etcd-launcher"
	permitFile    = "permit"
	podUIDFile    = "pod-uid"
	usedMount     = "/run/etcd-launcher"
	usedPath      = usedMount + "/used"
)

// Sizes of the small volumes. The launcher's binary has about 7 MB, and the
// used-file some bytes; a volume that grows beyond its limit evicts the Pod.
var (
	launcherVolumeLimit = resource.MustParse("64Mi")
	usedVolumeLimit     = resource.MustParse("1Mi")
)

// terminationGracePeriodSeconds is how long a member may take to stop. A leader
// hands leadership over first and waits for that up to 7 s (etcd's request
// timeout: 5 s and two elections), then ends its streams and syncs its database.
const terminationGracePeriodSeconds = 30

// Options say what a cluster's spec does not.
type Options struct {
	// Name is the member's name, as [Name] makes it.
	Name string
	// Version is the etcd version to run, without a "v".
	Version string
	// LauncherImage is an image that has etcd-launcher in /usr/local/bin.
	LauncherImage string
	// Role is the value of the label etcd_role, one of v1beta2's Role constants.
	Role string
	// StartPermit is the permit to start without data; nil to make the member wait for
	// one. A Pod that is to come up on its volume needs none.
	StartPermit *launcher.StartPermit
	// FormerOwners are the uids of the EtcdClusters whose volume the member's was, as
	// [FormerOwners] tells them.
	FormerOwners []string
	// New is true if the member has never run, so its volume must be empty.
	New bool
	// Restore is set for the seed of a restore, whose Pod then has to mount the permit; nil
	// for every other member.
	Restore *launcher.Restore
}

// NewPod builds a member's Pod.
func NewPod(c *v1beta2.EtcdCluster, o Options) (*corev1.Pod, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("build Pod %s: %w", o.Name, err)
	}
	policy := podPolicy(c)
	if err := ValidateEnv(policy.EtcdEnv); err != nil {
		return nil, fmt.Errorf("build Pod %s: %w", o.Name, err)
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            o.Name,
			Namespace:       c.Namespace,
			Labels:          podLabels(c, o.Name, o.Role),
			Annotations:     podAnnotations(c, policy, o),
			OwnerReferences: []metav1.OwnerReference{Owner(c)},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{launcherContainer(policy, o)},
			Containers:     []corev1.Container{etcdContainer(c, policy, o)},
			Volumes:        append(volumes(policy, o.Name), tlsVolumes(c)...),

			RestartPolicy:                 corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: cmp.Or(policy.TerminationGracePeriodSeconds, new(int64(terminationGracePeriodSeconds))),
			Hostname:                      o.Name,
			Subdomain:                     PeerServiceName(c.Name),

			// etcd asks nothing of the API server, and a Service's variables in
			// its environment could be taken for its own settings
			// (ETCD_PORT=tcp://…, of a Service named etcd).
			ServiceAccountName:           policy.ServiceAccountName,
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			SecurityContext:              podsecurity.Pod(policy.SecurityContext),
			ImagePullSecrets:             policy.ImagePullSecrets,

			PriorityClassName:         policy.PriorityClassName,
			NodeSelector:              policy.NodeSelector,
			Tolerations:               policy.Tolerations,
			Affinity:                  affinity(c.Name, policy),
			TopologySpreadConstraints: spread(c.Name, policy),
		},
	}, nil
}

func (o Options) validate() error {
	switch {
	case o.Name == "":
		return errors.New("no member name")
	case o.Version == "":
		return errors.New("no etcd version")
	case o.LauncherImage == "":
		return errors.New("no launcher image")
	case o.Role == "":
		return errors.New("no role")
	}
	return nil
}

// Image is the etcd image of a version, given without a "v".
func Image(c *v1beta2.EtcdCluster, version string) string {
	return c.Spec.ImageRepository() + ":v" + version
}

// podPolicy is a copy of the user's policy, so that nothing built from it shares
// memory with the EtcdCluster (which may lie in an informer's cache).
func podPolicy(c *v1beta2.EtcdCluster) *v1beta2.PodPolicy {
	if c.Spec.Pod == nil {
		return &v1beta2.PodPolicy{}
	}
	return c.Spec.Pod.DeepCopy()
}

func podAnnotations(c *v1beta2.EtcdCluster, policy *v1beta2.PodPolicy, o Options) map[string]string {
	a := map[string]string{}
	maps.Copy(a, policy.Annotations)
	a[AnnotationVersion] = o.Version
	a[v1beta2.AnnotationImage] = Image(c, o.Version)
	a[v1beta2.AnnotationTemplate] = TemplateHash(c)
	if t := trust(c); t != "" {
		a[v1beta2.AnnotationTrust] = t
	}
	if len(policy.Labels)+len(policy.Annotations) > 0 {
		a[v1beta2.AnnotationKeys] = userKeys(policy)
	}
	delete(a, launcher.StartPermitAnnotation) // nobody else's to give
	if o.StartPermit != nil {
		a[launcher.StartPermitAnnotation] = o.StartPermit.String()
	}
	return a
}

func launcherContainer(policy *v1beta2.PodPolicy, o Options) corev1.Container {
	return corev1.Container{
		Name:            ContainerLauncher,
		Image:           o.LauncherImage,
		Command:         []string{"etcd-launcher", "install", launcherPath},
		Resources:       launcherResources(policy),
		SecurityContext: podsecurity.Container(),
		VolumeMounts:    []corev1.VolumeMount{{Name: volumeLauncher, MountPath: launcherMount}},
	}
}

// launcherResources are the user's, if they give any, so that a Pod that is
// meant to be Guaranteed is: every container counts. They cost nothing, since
// the scheduler takes the larger of the init container's and etcd's.
func launcherResources(policy *v1beta2.PodPolicy) corev1.ResourceRequirements {
	if len(policy.Resources.Requests) > 0 || len(policy.Resources.Limits) > 0 {
		return corev1.ResourceRequirements{
			Requests: policy.Resources.Requests.DeepCopy(),
			Limits:   policy.Resources.Limits.DeepCopy(),
		}
	}
	// No CPU limit: it would make every start slower.
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("16Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
}

func etcdContainer(c *v1beta2.EtcdCluster, policy *v1beta2.PodPolicy, o Options) corev1.Container {
	return corev1.Container{
		Name:    ContainerEtcd,
		Image:   Image(c, o.Version),
		Command: launcherCommand(c, o),
		Args:    etcdCommand(c, o.Name),
		Env:     slices.Concat([]corev1.EnvVar{{Name: EnvMaxLearners, Value: strconv.Itoa(MaxLearners)}}, settings(c, policy.EtcdEnv), tlsSettings(c, policy.EtcdEnv), policy.EtcdEnv),
		Ports: []corev1.ContainerPort{
			{Name: clientPortName, ContainerPort: ClientPort, Protocol: corev1.ProtocolTCP},
			{Name: peerPortName, ContainerPort: PeerPort, Protocol: corev1.ProtocolTCP},
			{Name: metricsPortName, ContainerPort: MetricsPort, Protocol: corev1.ProtocolTCP},
		},
		Resources:       policy.Resources,
		SecurityContext: podsecurity.Container(),
		LivenessProbe:   livenessProbe(),
		ReadinessProbe:  readinessProbe(),
		// etcd's last words are in its log, and status.lastState then has them.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: append([]corev1.VolumeMount{
			{Name: VolumeData, MountPath: DataMount},
			{Name: volumeLauncher, MountPath: launcherMount, ReadOnly: true},
			{Name: volumePermit, MountPath: permitMount, ReadOnly: true},
			{Name: volumeUsed, MountPath: usedMount},
		}, tlsVolumeMounts(c)...),
	}
}

// launcherCommand is the launcher, up to etcd's own command line. It has the checks for
// corruption, whose variables have another name in each minor, and not the Pod's
// environment, which stays when its image changes.
func launcherCommand(c *v1beta2.EtcdCluster, o Options) []string {
	command := []string{
		launcherPath, "run",
		"--data-dir=" + DataDir,
		"--permit-file=" + permitMount + "/" + permitFile,
		"--used-file=" + usedPath,
		fmt.Sprintf("--listen=:%d", MetricsPort),
		"--name=" + o.Name,
		"--peer-url=" + PeerURL(c, o.Name),
		"--cluster-uid=" + string(c.UID),
		"--pod-uid-file=" + permitMount + "/" + podUIDFile,
		"--check-compactions",
	}
	if c.Spec.Etcd != nil && c.Spec.Etcd.InitialCorruptCheck {
		command = append(command, "--check-at-start")
	}
	for _, uid := range o.FormerOwners {
		command = append(command, "--former-cluster-uid="+uid)
	}
	if o.New {
		command = append(command, "--new-member")
	}
	if o.Restore != nil {
		command = append(command, o.Restore.Flags()...)
	}
	return append(command, "--")
}

// etcdCommand is what the launcher execs, before it adds --initial-cluster*.
// Only settings that no user may make are here: a setting given both as flag and
// as variable is fatal to etcd.
func etcdCommand(c *v1beta2.EtcdCluster, name string) []string {
	// Go listens on every address, IPv4 and IPv6, when told 0.0.0.0, whichever
	// of the two the host has (net.Listen, "literal unspecified IP address");
	// [::] fails on a host without IPv6.
	return append([]string{
		"etcd",
		"--name=" + name,
		"--data-dir=" + DataDir,
		fmt.Sprintf("--listen-peer-urls=%s://0.0.0.0:%d", scheme(c.PeerTLSSecret()), PeerPort),
		fmt.Sprintf("--listen-client-urls=%s://0.0.0.0:%d", scheme(c.ServerTLSSecret()), ClientPort),
		fmt.Sprintf("--listen-metrics-urls=http://0.0.0.0:%d", MetricsPort),
		"--initial-advertise-peer-urls=" + PeerURL(c, name),
		"--advertise-client-urls=" + ClientURL(c, name),
	}, tlsFlags(c, name)...)
}

// livePath asks whether this process can read its own database. It does not ask
// for a leader (serializable), so a lost quorum kills nobody, learners pass, and
// alarms, which no restart cures, are left out. True of etcd 3.4.29, 3.5.11 and
// later (etcdhttp.HandleHealth), and of a waiting launcher.
const livePath = "/health?serializable=true&exclude=NOSPACE&exclude=CORRUPT"

// livenessProbe ends a process that is stuck, and nothing less: a
// defragmentation or the restoring of a leader's snapshot may hold reads up for
// a minute. The numbers are kubeadm's for its etcd.
//
// For the first half hour of a process it is held off: etcd opens its database and
// replays its log before it listens, and to kill it meanwhile would make it begin
// anew. That is enough for the largest database that etcd recommends (8 GiB) on a slow
// disk. A launcher that has waited for some of it ends instead, and its container starts
// anew. A startup probe would say sooner that it has come up, but readiness is not
// asked for before a startup probe has passed, at a tick of a second: every member
// would be ready that much later.
func livenessProbe() *corev1.Probe {
	p := httpProbe(livePath)
	p.InitialDelaySeconds = 1800
	p.PeriodSeconds = 10
	p.TimeoutSeconds = 15
	p.FailureThreshold = 8
	return p
}

// readinessProbe asks for a linearizable read, so a member without a leader gets
// no clients. It fails on learners, which serve none. A period of one second
// adds half a second to a start, on average; such a read costs etcd one round
// trip to the leader.
//
// Without a leader etcd does not answer at all, and the timeout tells. It is
// longer than an election takes (1 to 2 s), and three must pass in a row: slow
// members are better than a Service without endpoints.
func readinessProbe() *corev1.Probe {
	p := httpProbe("/readyz")
	p.PeriodSeconds = 1
	p.TimeoutSeconds = 5
	p.FailureThreshold = 3
	return p
}

func httpProbe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path:   path,
			Port:   intstr.FromString(metricsPortName),
			Scheme: corev1.URISchemeHTTP,
		}},
		SuccessThreshold: 1,
	}
}

func volumes(policy *v1beta2.PodPolicy, name string) []corev1.Volume {
	return []corev1.Volume{
		{Name: VolumeData, VolumeSource: dataSource(policy, name)},
		{Name: volumeLauncher, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(launcherVolumeLimit.DeepCopy())},
		}},
		{Name: volumePermit, VolumeSource: corev1.VolumeSource{
			DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
				fieldFile(permitFile, "metadata.annotations['"+launcher.StartPermitAnnotation+"']"),
				fieldFile(podUIDFile, "metadata.uid"),
			}},
		}},
		// On disk, never in memory: a node that restarts keeps the Pod and its
		// disk, and must not forget which permits were used.
		{Name: volumeUsed, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(usedVolumeLimit.DeepCopy())},
		}},
	}
}

// fieldFile is a file with what a field of the Pod holds.
func fieldFile(path, field string) corev1.DownwardAPIVolumeFile {
	return corev1.DownwardAPIVolumeFile{Path: path, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field}}
}

func dataSource(policy *v1beta2.PodPolicy, name string) corev1.VolumeSource {
	if policy.PersistentVolumeClaimSpec == nil {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	return corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}
}

// NewClaim builds a member's PersistentVolumeClaim, which has the member's name;
// nil for a cluster without persistentVolumeClaimSpec.
func NewClaim(c *v1beta2.EtcdCluster, name string) *corev1.PersistentVolumeClaim {
	if !c.Spec.Persistent() {
		return nil
	}
	spec := c.Spec.Pod.PersistentVolumeClaimSpec.DeepCopy()
	// Admission refuses these; an EtcdCluster of before may have them. A member begins empty,
	// and on a volume of its own.
	spec.DataSource, spec.DataSourceRef, spec.VolumeName = nil, nil, ""
	if len(spec.AccessModes) == 0 {
		// The API server demands one, and no other would do more for one Pod.
		spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: c.Namespace,
			Labels:    ClaimLabels(c, name),
		},
		Spec: *spec,
	}
	if c.Spec.RetainsVolumes() {
		claim.Labels[v1beta2.LabelOwner] = string(c.UID)
	} else {
		claim.OwnerReferences = []metav1.OwnerReference{Owner(c)}
	}
	return claim
}
