//! The kinds of Kubernetes itself whose objects live in namespaces.

use k8s_openapi::api::{
    apps, autoscaling, batch, coordination, core, discovery, events, networking, policy, rbac, resource, storage,
};
use k8s_openapi::{NamespaceResourceScope, Resource};

/// One of them, in one version.
pub(super) struct NamespacedKind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
}

const fn of<T: Resource<Scope = NamespaceResourceScope>>() -> NamespacedKind {
    NamespacedKind { group: T::GROUP, version: T::VERSION, kind: T::KIND, plural: T::URL_PATH_SEGMENT }
}

/// All that last; what only early versions have is not among them.
pub(super) const NAMESPACED: [NamespacedKind; 32] = [
    of::<core::v1::ConfigMap>(),
    of::<core::v1::Endpoints>(),
    of::<core::v1::Event>(),
    of::<core::v1::LimitRange>(),
    of::<core::v1::PersistentVolumeClaim>(),
    of::<core::v1::Pod>(),
    of::<core::v1::PodTemplate>(),
    of::<core::v1::ReplicationController>(),
    of::<core::v1::ResourceQuota>(),
    of::<core::v1::Secret>(),
    of::<core::v1::Service>(),
    of::<core::v1::ServiceAccount>(),
    of::<apps::v1::ControllerRevision>(),
    of::<apps::v1::DaemonSet>(),
    of::<apps::v1::Deployment>(),
    of::<apps::v1::ReplicaSet>(),
    of::<apps::v1::StatefulSet>(),
    of::<autoscaling::v1::HorizontalPodAutoscaler>(),
    of::<autoscaling::v2::HorizontalPodAutoscaler>(),
    of::<batch::v1::CronJob>(),
    of::<batch::v1::Job>(),
    of::<coordination::v1::Lease>(),
    of::<discovery::v1::EndpointSlice>(),
    of::<events::v1::Event>(),
    of::<networking::v1::Ingress>(),
    of::<networking::v1::NetworkPolicy>(),
    of::<policy::v1::PodDisruptionBudget>(),
    of::<rbac::v1::Role>(),
    of::<rbac::v1::RoleBinding>(),
    of::<resource::v1::ResourceClaim>(),
    of::<resource::v1::ResourceClaimTemplate>(),
    of::<storage::v1::CSIStorageCapacity>(),
];
