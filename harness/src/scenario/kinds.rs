//! Which kinds have no namespace, as far as that is known without asking a cluster.

use crate::dialects::Dialect;

/// The kind of definitions.
pub const DEFINITION: &str = "CustomResourceDefinition";

/// The kind of what binds an admission policy. Beside definitions lies one that keeps them from becoming those of an older release.
pub const POLICY_BINDING: &str = "ValidatingAdmissionPolicyBinding";

/// The API group of admission.
pub const ADMISSION: &str = "admissionregistration.k8s.io";

/// Kinds of Kubernetes without a namespace. What others define is known from their dialect, or from discovery alone.
const CLUSTER_SCOPED: [&str; 31] = [
    "APIService",
    "CSIDriver",
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterTrustBundle",
    DEFINITION,
    "DeviceClass",
    "FlowSchema",
    "IPAddress",
    "IngressClass",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "PriorityLevelConfiguration",
    "ResourceSlice",
    "RuntimeClass",
    "ServiceCIDR",
    "StorageClass",
    "StorageVersion",
    "StorageVersionMigration",
    "ValidatingAdmissionPolicy",
    POLICY_BINDING,
    "ValidatingWebhookConfiguration",
    "VolumeAttachment",
    "VolumeAttributesClass",
];

/// Whether a kind of Kubernetes or of a dialect has no namespace.
pub fn is_cluster_scoped(kind: &str, dialect: &Dialect) -> bool {
    CLUSTER_SCOPED.contains(&kind) || dialect.is_cluster_scoped(kind)
}
