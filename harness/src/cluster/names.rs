//! Labels and names: unique to run and scenario, so that everything can run at once.

use serde_json::{Map, Value, json};

/// Label that marks everything of a run.
pub const RUN_LABEL: &str = "gateproof.dev/run";
/// Label that marks everything of a scenario; the value is its token.
pub const SCENARIO_LABEL: &str = "gateproof.dev/scenario";
/// Label that marks pool Gateways; the value is the Gateway's name.
pub const POOL_LABEL: &str = "gateproof.dev/pool";
/// Label of Pods of deployed backends; the value is the name of their Service.
pub const SERVICE_LABEL: &str = "gateproof.dev/service";
/// Label of Pods of deployed backends; the value is the backend's identity.
pub const BACKEND_LABEL: &str = "gateproof.dev/backend";
/// Kubernetes' recommended label for who manages an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub const MANAGED_BY: &str = "gateproof";
/// Field manager of every write.
pub const FIELD_MANAGER: &str = "gateproof";
/// How the names of all begin that a run makes outside of its namespaces, and of these themselves.
pub const PREFIX: &str = "gp-";
/// Domain below which every hostname of a run lies. `.test` is never delegated (RFC 6761).
pub const DOMAIN: &str = "gateproof.test";

/// A fresh run id: six characters, legal in labels, names and hostnames, beginning with a letter.
pub fn run_id() -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyz";
    const ALL: &[u8] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut id = String::new();
    id.push(char::from(LETTERS[rand::random_range(0..LETTERS.len())]));
    for _ in 0..5 {
        id.push(char::from(ALL[rand::random_range(0..ALL.len())]));
    }
    id
}

/// Whether a text may be the ID of a run.
pub fn is_run_id(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.len() <= 40
}

/// The token of the `index`th execution of a run.
pub fn token(run_id: &str, index: usize) -> String {
    format!("{run_id}-{index}")
}

/// Namespace of a scenario; at most 63 characters, as aliases are short.
pub fn namespace(token: &str, alias: &str) -> String {
    own(token, alias)
}

/// Name of what a scenario makes outside of namespaces.
pub fn own(token: &str, alias: &str) -> String {
    format!("{PREFIX}{token}-{alias}")
}

/// The token in the name of a scenario's namespace.
pub fn token_of(namespace: &str) -> Option<&str> {
    let rest = namespace.strip_prefix(PREFIX)?;
    let (run, behind) = rest.split_once('-')?;
    let (index, _) = behind.split_once('-')?;
    rest.get(..run.len() + 1 + index.len())
}

/// Whether the name of an object without namespace is one of a run's: of a namespace, of the pool's, or of `${name:alias}`.
pub fn is_of_run(name: &str, run_id: &str) -> bool {
    let behind = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(run_id));
    behind.is_some_and(|behind| behind.starts_with('-'))
}

/// Namespace of the pool.
pub fn pool_namespace(run_id: &str) -> String {
    own(run_id, "pool")
}

/// Hostname of a scenario; one label below the domain, so that one wildcard certificate serves them all.
pub fn host(token: &str, alias: &str) -> String {
    if alias == "host" { format!("{token}.{DOMAIN}") } else { format!("{alias}-{token}.{DOMAIN}") }
}

/// The labels that mark an object of a scenario, or of the run itself.
pub fn labels(run_id: &str, token: Option<&str>) -> Map<String, Value> {
    let mut labels = Map::new();
    labels.insert(RUN_LABEL.to_owned(), json!(run_id));
    labels.insert(MANAGED_BY_LABEL.to_owned(), json!(MANAGED_BY));
    if let Some(token) = token {
        labels.insert(SCENARIO_LABEL.to_owned(), json!(token));
    }
    labels
}

/// The labels that a Service of deployed backends selects.
pub fn selector(service: &str) -> Map<String, Value> {
    Map::from_iter([(SERVICE_LABEL.to_owned(), json!(service))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_are_labels() {
        for _ in 0..100 {
            let id = run_id();
            assert_eq!(id.len(), 6);
            assert!(is_run_id(&id));
            assert!(id.starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
        }
    }

    #[test]
    fn a_namespace_tells_its_token() {
        assert_eq!(token_of(&namespace("abcdef-12", "ns")), Some("abcdef-12"));
        assert_eq!(token_of(&namespace("abcdef-12", "other-one")), Some("abcdef-12"));
        assert_eq!(token_of(&pool_namespace("abcdef")), None);
        assert_eq!(token_of("default"), None);
    }

    #[test]
    fn a_run_knows_its_names() {
        for name in [namespace("abcdef-1", "ns"), pool_namespace("abcdef")] {
            assert!(is_of_run(&name, "abcdef"));
            assert!(!is_of_run(&name, "abcde") && !is_of_run(&name, "abcdeg"));
        }
        assert!(!is_of_run("precious", "abcdef"));
    }

    #[test]
    fn hosts_lie_one_label_below_the_domain() {
        assert_eq!(host("abc-1", "host"), "abc-1.gateproof.test");
        assert_eq!(host("abc-1", "other"), "other-abc-1.gateproof.test");
    }
}
