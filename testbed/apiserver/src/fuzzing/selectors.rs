//! Label and field selectors.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::kinds::Registry;
use crate::select::{FieldSelector, LabelSelector};

static OBJECTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    vec![
        json!({}),
        json!({"metadata": {"name": "a", "namespace": "n", "labels": {"app": "web", "n": "4", "x.dev/y": ""}},
            "spec": {"type": "ClusterIP"}}),
        json!({"metadata": {"name": "b,=\\", "labels": {"app": "api", "n": "-9223372036854775808"}}}),
    ]
});

/// Two selectors, one a line: each is refused or decides, and both joined by a comma ask for both.
pub fn selectors(data: &[u8]) {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new([]));
    let text = String::from_utf8_lossy(data);
    let (one, other) = text.split_once('\n').unwrap_or((&text, ""));
    let labels = |text: &str| {
        let selector = LabelSelector::parse(text).ok()?;
        Some(OBJECTS.iter().map(|object| selector.matches(object)).collect())
    };
    joined(one, other, &labels);
    let service = REGISTRY.resource("", "v1", "services").expect("services are built in");
    let fields = |text: &str| {
        let selector = FieldSelector::parse(text, service).ok()?;
        Some(OBJECTS.iter().map(|object| selector.matches(object)).collect())
    };
    joined(one, other, &fields);
}

fn joined(one: &str, other: &str, select: &dyn Fn(&str) -> Option<Vec<bool>>) {
    let (Some(first), Some(second)) = (select(one), select(other)) else { return };
    if one.trim().is_empty() || other.trim().is_empty() {
        return;
    }
    let both: Vec<bool> = first.iter().zip(&second).map(|(a, b)| *a && *b).collect();
    assert_eq!(select(&format!("{one},{other}")), Some(both), "{one:?} and {other:?}");
}
