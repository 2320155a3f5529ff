//! What a Deployment comes to.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::NODE;
use crate::image::Image;

/// The longest name of a Pod, so that it can be a hostname.
const LONGEST_NAME: usize = 63;

/// Whether every container of a Deployment is of a known image, so that it is run here.
pub(crate) fn is_ours(deployment: &Deployment) -> bool {
    let spec = deployment.spec.template.spec.as_ref();
    let is_known = |container: &Container| container.image.as_deref().and_then(Image::parse).is_some();
    spec.is_some_and(|spec| !spec.containers.is_empty() && spec.containers.iter().all(is_known))
}

/// The Pods that a Deployment shall have. Their names follow from its UID and its template, so that a change of the
/// template makes other Pods.
pub(crate) fn pods(deployment: &Deployment) -> Vec<Pod> {
    let meta = &deployment.metadata;
    let spec = &deployment.spec;
    let (Some(name), Some(uid)) = (&meta.name, &meta.uid) else { return Vec::new() };
    if meta.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let template = serde_json::to_string(&spec.template).unwrap_or_default();
    let digest = format!("{:x}", Sha256::digest(format!("{uid}{template}")));
    let labels = spec.template.metadata.as_ref();
    let pod = |index: i32| {
        let mut pod_spec = spec.template.spec.clone()?;
        pod_spec.node_name = Some(NODE.to_owned());
        let suffix = format!("-{}-{index}", &digest[..10]);
        let kept: String = name.chars().take(LONGEST_NAME - suffix.len()).collect();
        let metadata = ObjectMeta {
            name: Some(format!("{kept}{suffix}")),
            namespace: meta.namespace.clone(),
            labels: labels.and_then(|meta| meta.labels.clone()),
            annotations: labels.and_then(|meta| meta.annotations.clone()),
            owner_references: Some(vec![OwnerReference {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                name: name.clone(),
                uid: uid.clone(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            ..ObjectMeta::default()
        };
        Some(Pod { metadata, spec: Some(pod_spec), status: None })
    };
    (0..spec.replicas.unwrap_or(1)).filter_map(pod).collect()
}

/// The status that a Deployment shall have with so many Pods ready, as a merge patch; nothing if it has it.
pub(crate) fn status(deployment: &Deployment, ready: i32, now: &str) -> Option<Value> {
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let generation = deployment.metadata.generation;
    let has = deployment.status.as_ref();
    let number = |count: Option<i32>| count.unwrap_or(0);
    let same = has.is_some_and(|has| {
        has.observed_generation == generation
            && [has.replicas, has.updated_replicas].map(number) == [wanted; 2]
            && [has.ready_replicas, has.available_replicas].map(number) == [ready; 2]
            && has.conditions.is_some()
    });
    if same {
        return None;
    }
    let available = ready >= wanted;
    let (status, reason) =
        if available { ("True", "MinimumReplicasAvailable") } else { ("False", "MinimumReplicasUnavailable") };
    Some(json!({"status": {
        "observedGeneration": generation,
        "replicas": wanted,
        "updatedReplicas": wanted,
        "readyReplicas": ready,
        "availableReplicas": ready,
        "unavailableReplicas": (wanted - ready).max(0),
        "conditions": [{
            "type": "Available", "status": status, "reason": reason, "message": format!("{ready} of {wanted} Pods are ready"),
            "lastTransitionTime": now, "lastUpdateTime": now,
        }],
    }}))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn deployment(images: &[&str]) -> Deployment {
        let container = |(index, image): (usize, &&str)| json!({"name": format!("c{index}"), "image": image});
        let containers: Vec<Value> = images.iter().enumerate().map(container).collect();
        serde_json::from_value(json!({
            "metadata": {"name": "echo", "namespace": "ns", "uid": "u", "generation": 3},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "echo"}},
                "template": {"metadata": {"labels": {"app": "echo"}}, "spec": {"containers": containers}},
            },
        }))
        .unwrap()
    }

    fn names(deployment: &Deployment) -> Vec<String> {
        pods(deployment).into_iter().filter_map(|pod| pod.metadata.name).collect()
    }

    #[rstest]
    #[case(&["echo-basic:v1"], true)]
    #[case(&["echo-basic:v1", "coredns"], true)]
    #[case(&["echo-basic:v1", "nginx"], false)]
    #[case(&[], false)]
    fn known_images_alone_are_run(#[case] images: &[&str], #[case] expected: bool) {
        assert_eq!(is_ours(&deployment(images)), expected);
    }

    #[test]
    fn pods_are_bound_owned_and_labelled() {
        let pod = pods(&deployment(&["echo-basic"])).remove(1);
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some(NODE));
        assert_eq!(pod.metadata.labels.unwrap()["app"], "echo");
        let owner = pod.metadata.owner_references.unwrap().remove(0);
        assert_eq!((owner.kind.as_str(), owner.uid.as_str(), owner.controller), ("Deployment", "u", Some(true)));
    }

    #[test]
    fn names_are_stable_and_change_with_template_and_uid() {
        let first = deployment(&["echo-basic:v1"]);
        assert_eq!(names(&first), names(&first));
        assert_eq!(names(&first).len(), 2);
        assert!(names(&first)[0].starts_with("echo-"));
        let mut again = first.clone();
        again.metadata.uid = Some("v".to_owned());
        assert_ne!(names(&first), names(&again));
        assert_ne!(names(&first), names(&deployment(&["echo-basic:v2"])));
        let mut long = first;
        long.metadata.name = Some("x".repeat(80));
        assert!(names(&long).iter().all(|name| name.len() == LONGEST_NAME));
    }

    #[test]
    fn a_deployment_that_goes_has_no_pods() {
        let mut going = deployment(&["echo-basic"]);
        going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        assert!(pods(&going).is_empty());
    }

    #[test]
    fn a_status_is_written_once() {
        let mut deployment = deployment(&["echo-basic"]);
        let half = status(&deployment, 1, "2026-01-01T00:00:00Z").unwrap();
        assert_eq!(half["status"]["conditions"][0]["status"], "False");
        let all = status(&deployment, 2, "2026-01-01T00:00:00Z").unwrap();
        assert_eq!(all["status"]["conditions"][0]["status"], "True");
        deployment.status = serde_json::from_value(all["status"].clone()).unwrap();
        assert_eq!(status(&deployment, 2, "2026-01-01T00:00:01Z"), None);
        assert!(status(&deployment, 1, "2026-01-01T00:00:01Z").is_some());
    }
}
