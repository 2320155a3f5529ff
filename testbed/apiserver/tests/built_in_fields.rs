//! The fields of the built-in schemas exist in Kubernetes: an object that has them all survives its typed form.
#![allow(clippy::unwrap_used)]

use gateproof_apiserver::schema::builtin;
use k8s_openapi::Resource;
use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, authentication::v1 as authentication,
    authorization::v1 as authorization, autoscaling::v2 as autoscaling, certificates::v1 as certificates,
    coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery, events::v1 as events,
    policy::v1 as policy, rbac::v1 as rbac,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use rstest::rstest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn paths(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, member) in map {
                let path = format!("{at}.{name}");
                found.push(path.clone());
                paths(member, &path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, &format!("{at}[]"), found)),
        _ => {}
    }
}

fn round_trip<T: Resource + Serialize + DeserializeOwned>(mut object: Value) -> Value {
    object["apiVersion"] = T::API_VERSION.into();
    object["kind"] = T::KIND.into();
    serde_json::to_value(serde_json::from_value::<T>(object).unwrap()).unwrap()
}

#[rstest]
#[case("", "Namespace", round_trip::<core::Namespace>)]
#[case("", "Service", round_trip::<core::Service>)]
#[case("", "Endpoints", round_trip::<core::Endpoints>)]
#[case("", "Secret", round_trip::<core::Secret>)]
#[case("", "ConfigMap", round_trip::<core::ConfigMap>)]
#[case("", "ServiceAccount", round_trip::<core::ServiceAccount>)]
#[case("", "Pod", round_trip::<core::Pod>)]
#[case("", "Node", round_trip::<core::Node>)]
#[case("", "Event", round_trip::<core::Event>)]
#[case("events.k8s.io", "Event", round_trip::<events::Event>)]
#[case("apps", "Deployment", round_trip::<apps::Deployment>)]
#[case("apps", "DaemonSet", round_trip::<apps::DaemonSet>)]
#[case("apps", "ReplicaSet", round_trip::<apps::ReplicaSet>)]
#[case("discovery.k8s.io", "EndpointSlice", round_trip::<discovery::EndpointSlice>)]
#[case("certificates.k8s.io", "ClusterTrustBundle", round_trip::<certificates::ClusterTrustBundle>)]
#[case("coordination.k8s.io", "Lease", round_trip::<coordination::Lease>)]
#[case("policy", "PodDisruptionBudget", round_trip::<policy::PodDisruptionBudget>)]
#[case("autoscaling", "HorizontalPodAutoscaler", round_trip::<autoscaling::HorizontalPodAutoscaler>)]
#[case("rbac.authorization.k8s.io", "Role", round_trip::<rbac::Role>)]
#[case("rbac.authorization.k8s.io", "ClusterRole", round_trip::<rbac::ClusterRole>)]
#[case("rbac.authorization.k8s.io", "RoleBinding", round_trip::<rbac::RoleBinding>)]
#[case("rbac.authorization.k8s.io", "ClusterRoleBinding", round_trip::<rbac::ClusterRoleBinding>)]
#[case("apiextensions.k8s.io", "CustomResourceDefinition", round_trip::<apiextensions::CustomResourceDefinition>)]
#[case("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", round_trip::<admission::ValidatingWebhookConfiguration>)]
#[case("admissionregistration.k8s.io", "MutatingWebhookConfiguration", round_trip::<admission::MutatingWebhookConfiguration>)]
#[case("authentication.k8s.io", "TokenReview", round_trip::<authentication::TokenReview>)]
#[case("authorization.k8s.io", "SubjectAccessReview", round_trip::<authorization::SubjectAccessReview>)]
fn every_field_is_known(#[case] group: &str, #[case] kind: &str, #[case] round_trip: fn(Value) -> Value) {
    let object = builtin::schema(group, kind).unwrap().example();
    let (mut written, mut read) = (Vec::new(), Vec::new());
    paths(&object, "", &mut written);
    paths(&round_trip(object), "", &mut read);
    let lost: Vec<&String> = written.iter().filter(|path| !read.contains(path)).collect();
    assert!(lost.is_empty(), "{kind}: {lost:?}");
    assert!(written.len() > 5, "{kind}: {written:?}");
}
