//! JSON patches that must not be carried out twice: where an answer is lost, the object tells whether they were.

use serde_json::Value;

use super::super::own::Stands;

/// What came of a patch of which the answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// Nothing: it may be sent again.
    Nothing,
    /// It was carried out.
    Done,
    /// Somebody has written the object since, and it may have been the run.
    Unknown,
}

/// Whether a JSON patch comes to the same if it is carried out twice. One that tests what it changes is refused then.
pub(super) fn is_repeatable(patch: &Value) -> bool {
    operations(patch).all(comes_to_the_same)
}

/// What came of a patch, by how the object stood after the run's last write before it, if that is known, and how it is now.
pub(super) fn came(patch: &Value, before: Option<&Stands>, live: &Value) -> Came {
    let now = Stands::of(live);
    if before.is_some_and(|before| before.version == now.version) {
        return Came::Nothing;
    }
    // What others write there is status and metadata, which count for no generation.
    let is_others = |operation: &Value| {
        let path = operation["path"].as_str().unwrap_or_default();
        ["/status", "/metadata"].iter().any(|part| path.starts_with(part))
    };
    if let Some(before) = before.filter(|before| before.generation > 0 && !operations(patch).any(is_others)) {
        return if now.generation == before.generation { Came::Nothing } else { Came::Done };
    }
    // What is added to a list that others write, too, is found there. What comes to the same twice, and what is tested before it, decides
    // nothing.
    let adds: Option<Vec<bool>> = operations(patch)
        .filter(|operation| operation["op"] != "test" && !comes_to_the_same(operation))
        .map(|operation| is_added(operation, live))
        .collect();
    match adds {
        Some(adds) if !adds.is_empty() && adds.iter().all(|is_there| *is_there) => Came::Done,
        Some(adds) if !adds.is_empty() && !adds.contains(&true) => Came::Nothing,
        _ => Came::Unknown,
    }
}

fn operations(patch: &Value) -> impl Iterator<Item = &Value> {
    patch.as_array().into_iter().flatten()
}

/// Whether an operation comes to the same if it is carried out twice.
fn comes_to_the_same(operation: &Value) -> bool {
    match operation["op"].as_str() {
        Some("replace") => true,
        Some("add") => list_of(operation).is_none(),
        _ => false,
    }
}

/// The list that an operation adds to, as far as its path tells.
fn list_of(operation: &Value) -> Option<&str> {
    let (list, last) = operation["path"].as_str()?.rsplit_once('/')?;
    (last == "-" || last.parse::<usize>().is_ok()).then_some(list)
}

/// Whether a list has what an operation adds to it, which may have been given defaults; nothing if it does something else.
fn is_added(operation: &Value, live: &Value) -> Option<bool> {
    let list = list_of(operation).filter(|_| operation["op"] == "add")?;
    let has = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|one| holds(one, &operation["value"])));
    Some(live.pointer(list).is_some_and(has))
}

/// Whether a value is another one, or has all of its fields.
fn holds(live: &Value, sent: &Value) -> bool {
    match (live, sent) {
        (Value::Object(live), Value::Object(sent)) => {
            sent.iter().all(|(name, value)| live.get(name).is_some_and(|live| holds(live, value)))
        }
        _ => live == sent,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::replaced(json!([{"op": "replace", "path": "/spec/rules/0", "value": 1}]), true)]
    #[case::added_by_name(json!([{"op": "add", "path": "/spec/hostnames", "value": []}]), true)]
    #[case::added_to_a_list(json!([{"op": "add", "path": "/spec/rules/1", "value": 1}]), false)]
    #[case::added_to_its_end(json!([{"op": "add", "path": "/spec/rules/-", "value": 1}]), false)]
    #[case::taken_away(json!([{"op": "remove", "path": "/spec/hostnames"}]), false)]
    #[case::moved(json!([{"op": "move", "from": "/spec/a", "path": "/spec/b"}]), false)]
    #[case::one_of_two(json!([{"op": "replace", "path": "/spec/a", "value": 1}, {"op": "remove", "path": "/spec/b"}]), false)]
    #[case::tested(json!([{"op": "test", "path": "/spec/a", "value": 0}, {"op": "replace", "path": "/spec/a", "value": 1}]), false)]
    fn what_comes_to_the_same_twice(#[case] patch: Value, #[case] expected: bool) {
        assert_eq!(is_repeatable(&patch), expected);
    }

    fn of_spec() -> Value {
        json!([{"op": "move", "from": "/spec/rules/0", "path": "/spec/rules/1"}])
    }

    fn of_status() -> Value {
        json!([{"op": "add", "path": "/status/parents/-", "value": {"a": 1}}])
    }

    fn tested() -> Value {
        json!([{"op": "test", "path": "/status/parents", "value": []}, of_status()[0]])
    }

    fn of_labels() -> Value {
        json!([{"op": "remove", "path": "/metadata/labels/a"}])
    }

    fn live(version: &str, generation: i64, parents: Value) -> Value {
        json!({"metadata": {"resourceVersion": version, "generation": generation}, "status": {"parents": parents}})
    }

    #[rstest]
    #[case::nobody_wrote(of_spec(), Some(("1", 3)), live("1", 3, json!([])), Came::Nothing)]
    #[case::others_wrote(of_spec(), Some(("1", 3)), live("2", 3, json!([])), Came::Nothing)]
    #[case::of_a_new_generation(of_spec(), Some(("1", 3)), live("2", 4, json!([])), Came::Done)]
    #[case::of_a_kind_without_generations(of_spec(), Some(("1", 0)), live("2", 0, json!([])), Came::Unknown)]
    #[case::of_an_object_of_others(of_spec(), None, live("2", 4, json!([])), Came::Unknown)]
    #[case::of_metadata(of_labels(), Some(("1", 3)), live("2", 3, json!([])), Came::Unknown)]
    #[case::of_metadata_that_nobody_wrote(of_labels(), Some(("1", 3)), live("1", 3, json!([])), Came::Nothing)]
    #[case::added(of_status(), Some(("1", 3)), live("2", 3, json!([{}, {"a": 1}])), Came::Done)]
    #[case::not_added(of_status(), Some(("1", 3)), live("2", 3, json!([{}])), Came::Nothing)]
    #[case::tested_and_added(tested(), Some(("1", 3)), live("2", 3, json!([{"a": 1, "b": 2}])), Came::Done)]
    #[case::tested_and_not_added(tested(), Some(("1", 3)), live("2", 3, json!([])), Came::Nothing)]
    #[case::of_another_part(json!([{"op": "remove", "path": "/endpoints/0"}]), Some(("1", 3)), live("2", 4, json!([])), Came::Done)]
    #[case::added_to_what_others_have(of_status(), None, live("2", 3, json!([{"a": 1}])), Came::Done)]
    fn the_object_tells_whether_it_was_done(
        #[case] patch: Value,
        #[case] before: Option<(&str, i64)>,
        #[case] live: Value,
        #[case] expected: Came,
    ) {
        let before = before.map(|(version, generation)| Stands { version: version.to_owned(), generation });
        assert_eq!(came(&patch, before.as_ref(), &live), expected);
    }
}
