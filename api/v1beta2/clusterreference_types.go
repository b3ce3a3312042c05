package v1beta2

// ClusterReference names an EtcdCluster of the same namespace.
type ClusterReference struct {
	// The name of the EtcdCluster.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="name is empty: set it to the name of an EtcdCluster of this namespace"
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="name must be the name of an EtcdCluster of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as example"
	Name string `json:"name"`
}
