//! The status of CustomResourceDefinitions: which names are theirs, and whether they are served.

use serde_json::{Value, json};

use crate::meta;

/// A condition that a definition has, if its status is the given one.
fn since<'v>(status: &'v Value, kind: &str, value: &str) -> Option<&'v str> {
    let conditions = status["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|c| c["type"] == kind && c["status"] == value)?;
    found["lastTransitionTime"].as_str()
}

/// The names that other definitions of the group have.
struct Taken {
    resources: Vec<Value>,
    kinds: Vec<Value>,
}

impl Taken {
    fn by<'v>(definition: &Value, others: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut taken = Self { resources: Vec::new(), kinds: Vec::new() };
        let same_group = |other: &&Value| {
            meta::name(other) != meta::name(definition) && other["spec"]["group"] == definition["spec"]["group"]
        };
        for names in others.into_iter().filter(same_group).map(|other| &other["status"]["acceptedNames"]) {
            taken.resources.extend([names["plural"].clone(), names["singular"].clone()]);
            taken.resources.extend(names["shortNames"].as_array().into_iter().flatten().cloned());
            taken.kinds.extend([names["kind"].clone(), names["listKind"].clone()]);
        }
        taken
    }
}

/// The definition with the status that its names give it: accepted or in conflict with `others`, established once they were
/// accepted, versions told.
pub fn establish<'v>(definition: &mut Value, others: impl IntoIterator<Item = &'v Value>, now: &str) {
    let asked = definition["spec"]["names"].clone();
    let old = definition.get("status").cloned().unwrap_or(Value::Null);
    let had = &old["acceptedNames"];
    let taken = Taken::by(definition, others);
    let mut accepted = json!({"plural": asked["plural"], "kind": ""});
    let mut conflict = None;
    for (field, reason, names) in [
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ] {
        let is_taken = |name: &Value| !name.is_null() && names.contains(name);
        let wanted = asked[field].as_array().map_or(std::slice::from_ref(&asked[field]), Vec::as_slice);
        let refused = asked[field] != had[field] && wanted.iter().any(is_taken);
        if refused {
            conflict = Some(reason);
        }
        let names = if refused { &had[field] } else { &asked[field] };
        if !names.is_null() {
            accepted[field] = names.clone();
        }
    }
    if !asked["categories"].is_null() {
        accepted["categories"] = asked["categories"].clone();
    }
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        let time = since(&old, kind, status).unwrap_or(now);
        json!({"type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message})
    };
    let names = match conflict {
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some(reason) => condition("NamesAccepted", "False", reason, "another definition of the group has the name"),
    };
    let established = match since(&old, "Established", "True") {
        None if conflict.is_some() => condition("Established", "False", "NotAccepted", "not all names are accepted"),
        _ => condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    };
    let stored = stored_versions(definition, &old);
    definition["status"] = json!({
        "conditions": [names, established],
        "acceptedNames": accepted,
        "storedVersions": stored,
    });
}

fn stored_versions(definition: &Value, old: &Value) -> Vec<Value> {
    let versions = definition["spec"]["versions"].as_array();
    let storage = versions.into_iter().flatten().find(|version| version["storage"] == true);
    let storage = storage.map_or(Value::Null, |version| version["name"].clone());
    let mut stored = old["storedVersions"].as_array().cloned().unwrap_or_default();
    if !stored.contains(&storage) {
        stored.push(storage);
    }
    stored
}

/// Whether the names of a definition are in conflict with those of others.
pub fn is_in_conflict(definition: &Value) -> bool {
    since(&definition["status"], "NamesAccepted", "False").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str) -> Value {
        json!({
            "metadata": {"name": format!("{plural}.example.dev")},
            "spec": {
                "group": "example.dev",
                "names": {"plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List")},
                "versions": [{"name": "v1", "storage": true}],
            },
        })
    }

    #[test]
    fn the_second_of_a_kind_waits_for_the_first_to_go() {
        let (mut first, mut second) = (definition("a", "Thing"), definition("b", "Thing"));
        establish(&mut first, [], "t1");
        establish(&mut second, [&first], "t2");
        assert!(!is_in_conflict(&first) && is_in_conflict(&second));
        assert_eq!(second["status"]["acceptedNames"], json!({"plural": "b", "kind": "", "singular": "b"}));
        assert_eq!(second["status"]["conditions"][1]["reason"], "NotAccepted");
        establish(&mut second, [], "t3");
        assert_eq!(second["status"]["conditions"][1]["status"], "True");
        assert_eq!(second["status"]["acceptedNames"]["kind"], "Thing");
    }

    #[test]
    fn what_was_accepted_stays_when_another_name_is_taken() {
        let mut first = definition("a", "Thing");
        establish(&mut first, [], "t1");
        let mut other = definition("b", "Other");
        establish(&mut other, [], "t1");
        other["spec"]["names"]["shortNames"] = json!(["a"]);
        establish(&mut other, [&first], "t2");
        assert_eq!(other["status"]["conditions"][0]["reason"], "ShortNamesConflict");
        assert_eq!(other["status"]["conditions"][1]["status"], "True");
    }
}
