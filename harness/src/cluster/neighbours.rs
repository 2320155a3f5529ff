//! Who else is served by the controller under test: what a scenario does to it is done to them.

use serde_json::Value;

use super::api::{Api, ApiError};
use super::kinds::Kind;
use super::names::RUN_LABEL;

/// How many entries, such as Gateways, are of classes of this controller and of no run.
///
/// # Errors
/// If classes or entries cannot be read.
pub async fn count(api: &Api, controller: &str, class: &Kind, entry: &Kind) -> Result<usize, ApiError> {
    let (mut classes, mut count) = (Vec::new(), 0);
    api.pages(&class.collection(None), |page| classes.extend(page)).await?;
    // There may be thousands, and none of them is kept.
    api.pages(&entry.collection(None), |page| count += served(controller, &classes, &page)).await?;
    Ok(count)
}

fn served(controller: &str, classes: &[Value], entries: &[Value]) -> usize {
    let is_its = |class: &&Value| class.pointer("/spec/controllerName").and_then(Value::as_str) == Some(controller);
    let names: Vec<&Value> =
        classes.iter().filter(is_its).filter_map(|class| class.pointer("/metadata/name")).collect();
    let is_of_a_run = |entry: &Value| entry["metadata"]["labels"].get(RUN_LABEL).is_some();
    // In which field it names its class is the dialect's matter, and no other has such names.
    let is_served = |entry: &Value| {
        let mut fields = entry["spec"].as_object().into_iter().flatten();
        fields.any(|(field, value)| field.ends_with("ClassName") && names.contains(&value))
    };
    entries.iter().filter(|entry| !is_of_a_run(entry) && is_served(entry)).count()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::of_the_class("ours", json!({}), 1)]
    #[case::of_another_class_of_the_controller("ours-too", json!({"team": "a"}), 1)]
    #[case::of_another_controller("theirs", json!({}), 0)]
    #[case::of_a_class_that_is_not_there("gone", json!({}), 0)]
    #[case::of_a_run("ours", json!({RUN_LABEL: "abc"}), 0)]
    fn those_of_others_are_counted(#[case] class: &str, #[case] labels: Value, #[case] expected: usize) {
        let of =
            |name: &str, controller: &str| json!({"metadata": {"name": name}, "spec": {"controllerName": controller}});
        let classes = [of("ours", "example.com/a"), of("ours-too", "example.com/a"), of("theirs", "example.com/b")];
        let entry = json!({"metadata": {"name": "web", "labels": labels}, "spec": {"gatewayClassName": class, "listeners": []}});
        assert_eq!(served("example.com/a", &classes, &[entry]), expected);
    }
}
