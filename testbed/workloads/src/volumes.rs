//! The files that volumes of Secrets and ConfigMaps bring into a container.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Container, KeyToPath, Pod, Secret, Volume};

/// What a cluster has for volumes.
pub(crate) trait Sources {
    /// The Secret of this namespace and name.
    fn secret(&self, namespace: &str, name: &str) -> Option<Secret>;
    /// The ConfigMap of this namespace and name.
    fn config_map(&self, namespace: &str, name: &str) -> Option<ConfigMap>;
}

/// What stands in the files of a Pod's volumes, by the volume's name and the path within it. Volumes of other sources have none.
#[derive(Debug, Default)]
pub(crate) struct Volumes(pub(crate) BTreeMap<String, BTreeMap<String, String>>);

impl Volumes {
    /// The volumes of a Pod; the first thing that is missing, as long as there is one that it must not go without.
    pub(crate) fn of(pod: &Pod, sources: &impl Sources) -> Result<Volumes, String> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let files = volumes.map(|volume| Ok((volume.name.clone(), files(volume, namespace, sources)?)));
        files.collect::<Result<_, String>>().map(Volumes)
    }

    /// The text at this path within a container.
    pub(crate) fn read(&self, container: &Container, path: &str) -> Option<&str> {
        container.volume_mounts.iter().flatten().find_map(|mount| {
            let within = path.strip_prefix(mount.mount_path.trim_end_matches('/'))?.strip_prefix('/')?;
            self.0.get(&mount.name)?.get(within).map(String::as_str)
        })
    }
}

fn files(volume: &Volume, namespace: &str, sources: &impl Sources) -> Result<BTreeMap<String, String>, String> {
    if let Some(source) = &volume.secret {
        let name = source.secret_name.as_deref().unwrap_or_default();
        let Some(secret) = sources.secret(namespace, name) else {
            return absent("Secret", name, source.optional);
        };
        let text = |ByteString(bytes): ByteString| String::from_utf8_lossy(&bytes).into_owned();
        let data = secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, text(value)));
        return select(data.collect(), source.items.as_deref(), ("Secret", name, source.optional));
    }
    if let Some(source) = &volume.config_map {
        let Some(map) = sources.config_map(namespace, &source.name) else {
            return absent("ConfigMap", &source.name, source.optional);
        };
        return select(
            map.data.unwrap_or_default(),
            source.items.as_deref(),
            ("ConfigMap", &source.name, source.optional),
        );
    }
    Ok(BTreeMap::new())
}

fn absent(kind: &str, name: &str, optional: Option<bool>) -> Result<BTreeMap<String, String>, String> {
    match optional {
        Some(true) => Ok(BTreeMap::new()),
        _ => Err(format!("{kind} {name}")),
    }
}

/// All keys under their own names, or those that are named under the paths that are given them.
fn select(
    mut data: BTreeMap<String, String>,
    items: Option<&[KeyToPath]>,
    (kind, name, optional): (&str, &str, Option<bool>),
) -> Result<BTreeMap<String, String>, String> {
    let Some(items) = items else { return Ok(data) };
    let mut files = BTreeMap::new();
    for item in items {
        match data.remove(&item.key) {
            Some(text) => _ = files.insert(item.path.clone(), text),
            None if optional == Some(true) => {}
            None => return Err(format!("key {} of {kind} {name}", item.key)),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    /// A Secret `s` and a ConfigMap `c`, both with the keys `a` and `b`.
    struct Cluster;

    impl Sources for Cluster {
        fn secret(&self, namespace: &str, name: &str) -> Option<Secret> {
            let data = json!({"data": {"a": "c2VjcmV0IGE=", "b": "c2VjcmV0IGI="}});
            (namespace == "ns" && name == "s").then(|| serde_json::from_value(data).unwrap())
        }

        fn config_map(&self, namespace: &str, name: &str) -> Option<ConfigMap> {
            let data = json!({"data": {"a": "map a", "b": "map b"}});
            (namespace == "ns" && name == "c").then(|| serde_json::from_value(data).unwrap())
        }
    }

    fn pod(volume: &Value) -> Pod {
        let mut volume = volume.clone();
        volume["name"] = json!("v");
        let container = json!({"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/etc/v/"}]});
        serde_json::from_value(json!({
            "metadata": {"namespace": "ns"}, "spec": {"containers": [container], "volumes": [volume]},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::secret(json!({"secret": {"secretName": "s"}}), "/etc/v/a", Some("secret a"))]
    #[case::map(json!({"configMap": {"name": "c"}}), "/etc/v/b", Some("map b"))]
    #[case::item(json!({"secret": {"secretName": "s", "items": [{"key": "a", "path": "x"}]}}), "/etc/v/x", Some("secret a"))]
    #[case::no_item(json!({"secret": {"secretName": "s", "items": [{"key": "a", "path": "x"}]}}), "/etc/v/b", None)]
    #[case::elsewhere(json!({"configMap": {"name": "c"}}), "/etc/va", None)]
    #[case::optional(json!({"configMap": {"name": "none", "optional": true}}), "/etc/v/a", None)]
    #[case::optional_key(json!({"configMap": {"name": "c", "optional": true, "items": [{"key": "z", "path": "z"}]}}), "/etc/v/z", None)]
    #[case::other(json!({"emptyDir": {}}), "/etc/v/a", None)]
    fn files_stand_where_they_are_mounted(#[case] volume: Value, #[case] path: &str, #[case] expected: Option<&str>) {
        let pod = pod(&volume);
        let volumes = Volumes::of(&pod, &Cluster).unwrap();
        assert_eq!(volumes.read(&pod.spec.unwrap().containers[0], path), expected);
    }

    #[rstest]
    #[case(json!({"secret": {"secretName": "none"}}), "Secret none")]
    #[case(json!({"configMap": {"name": "none"}}), "ConfigMap none")]
    #[case(json!({"secret": {"secretName": "s", "items": [{"key": "z", "path": "z"}]}}), "key z of Secret s")]
    fn what_is_missing_is_named(#[case] volume: Value, #[case] expected: &str) {
        assert_eq!(Volumes::of(&pod(&volume), &Cluster).unwrap_err(), expected);
    }
}
