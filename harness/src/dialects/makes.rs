//! What controllers make in the cluster for an object of a kind.

use serde::Deserialize;

/// How objects are found that controllers make for one of a kind, in its namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Makes {
    /// The label whose value is the name of the object that they were made for.
    pub label: String,
    /// The kinds of them that can be asked after.
    pub kinds: Vec<MadeKind>,
}

/// A kind of objects that controllers make.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeKind {
    /// Its name, such as `Service`.
    pub kind: String,
    /// Its API group; that of Kubernetes' core unless given.
    #[serde(default)]
    pub group: String,
    /// The version at which it is read; `v1` unless given.
    #[serde(default = "v1")]
    pub version: String,
    /// The resource, such as `services`.
    pub plural: String,
}

impl MadeKind {
    /// Where those of a namespace are listed that have this value of a label.
    pub fn path(&self, namespace: &str, label: &str, value: &str) -> String {
        let MadeKind { group, version, plural, .. } = self;
        let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let selector: String = url::form_urlencoded::byte_serialize(format!("{label}={value}").as_bytes()).collect();
        format!("{root}/namespaces/{namespace}/{plural}?labelSelector={selector}")
    }
}

fn v1() -> String {
    "v1".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    label: String,
    kinds: Vec<MadeKind>,
}

impl TryFrom<Written> for Makes {
    type Error = String;

    fn try_from(Written { label, kinds }: Written) -> Result<Makes, String> {
        if label.is_empty() {
            return Err("`makes` has no `label`: every object would be found".to_owned());
        }
        if kinds.is_empty() {
            return Err("`makes` has no kind in its `kinds`: name those that there may be, or leave it out".to_owned());
        }
        let twice = kinds.iter().enumerate().find(|(at, kind)| kinds[..*at].iter().any(|one| one.kind == kind.kind));
        match twice {
            Some((_, MadeKind { kind, .. })) => Err(format!("`makes` names the kind {kind} twice")),
            None => Ok(Makes { label, kinds }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::core("{kind: Service, plural: services}", "/api/v1/namespaces/ns/services?labelSelector=a.b%2Fc%3Dgw")]
    #[case::group(
        "{kind: Job, group: batch, plural: jobs}",
        "/apis/batch/v1/namespaces/ns/jobs?labelSelector=a.b%2Fc%3Dgw"
    )]
    #[case::version(
        "{kind: Job, group: batch, version: v2, plural: jobs}",
        "/apis/batch/v2/namespaces/ns/jobs?labelSelector=a.b%2Fc%3Dgw"
    )]
    fn kinds_are_listed_by_label(#[case] kind: &str, #[case] path: &str) {
        let kind: MadeKind = serde_yaml::from_str(kind).unwrap();
        assert_eq!(kind.path("ns", "a.b/c", "gw"), path);
    }

    #[rstest]
    #[case::right("{label: a, kinds: [{kind: Service, plural: services}]}", None)]
    #[case::no_label("{label: '', kinds: [{kind: Service, plural: services}]}", Some("no `label`"))]
    #[case::no_kind("{label: a, kinds: []}", Some("no kind"))]
    #[case::twice("{label: a, kinds: [{kind: Job, plural: jobs}, {kind: Job, plural: jobs}]}", Some("Job twice"))]
    #[case::unknown("{label: a, kinds: [], more: 1}", Some("unknown field"))]
    fn what_finds_nothing_or_everything_is_an_error(#[case] text: &str, #[case] problem: Option<&str>) {
        let read = serde_yaml::from_str::<Makes>(text);
        match problem {
            None => drop(read.unwrap()),
            Some(problem) => assert!(read.unwrap_err().to_string().contains(problem)),
        }
    }
}
