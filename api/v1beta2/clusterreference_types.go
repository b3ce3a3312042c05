package v1beta2

// ClusterReference names an EtcdCluster of the same namespace.
type ClusterReference struct {
	// The name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="name is empty: set it to the name of an EtcdCluster of this namespace"
	Name string `json:"name"`
}
