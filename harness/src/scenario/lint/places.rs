//! Places within objects that steps name by pointer, by patch or as a field of a status: a misspelt one is looked at in vain, or dropped
//! without a word.

use std::sync::Arc;

use super::super::diagnostic::{Diagnostic, Report, Source};
use super::super::parse::check::is_condition_type;
use super::super::parse::field::mirrored;
use super::super::parse::tree::{Document, Key, Kind, Mark, Node};
use super::super::pointer::below;
use super::{ObjectSchemas, WrongType, locate, near, walk, wrong_type};
use crate::dialects::{Dialect, StatusList};

/// What steps expect, keep or patch at places that no schema of the kind has.
pub(super) fn problems(
    document: &Document,
    source: &Arc<Source>,
    schemas: &dyn ObjectSchemas,
    dialect: &Dialect,
) -> Vec<Diagnostic> {
    let mut search = Search { source, schemas, dialect, found: Vec::new() };
    let steps = document.root.get("spec").and_then(|spec| spec.get("steps"));
    search.patches(steps);
    walk::subjects(steps, &mut |key, subject, _| {
        if let Some(kind) = walk::kind(&key.name) {
            search.subject(kind, subject);
        }
    });
    search.found
}

struct Search<'s> {
    source: &'s Arc<Source>,
    schemas: &'s dyn ObjectSchemas,
    dialect: &'s Dialect,
    found: Vec<Diagnostic>,
}

impl Search<'_> {
    fn patches(&mut self, steps: Option<&Node>) {
        for step in steps.map(Node::list).unwrap_or_default() {
            // A refusal may be what is wanted.
            let may_be_refused = step.get("refused").is_some() || step.get("either").is_some();
            if let Some(patch) = step.get("patch").filter(|_| !may_be_refused) {
                self.patch(patch);
            }
            for end in step.get("either").map(Node::list).unwrap_or_default() {
                self.patches(end.get("then"));
            }
        }
    }

    fn patch(&mut self, patch: &Node) {
        let Some(kind) = patch.get("target").and_then(Node::text).and_then(walk::kind) else { return };
        if let Some(merge) = patch.get("merge") {
            for (path, known) in self.schemas.unknown_in_patch(self.group(kind), kind, &merge.value()) {
                let message = format!("{kind} has no field `{path}`");
                self.found.push(self.source.problem(locate(merge, &path), message, near(&path, &known)));
            }
            self.value(kind, "", merge);
        }
        // What adds needs a place that the definition has, too: an API server drops the rest without a word. Where there are releases, that
        // may be meant: it has the place in another one.
        let adds = |change: &Node| change.get("op").and_then(Node::text) == Some("add");
        let may_be_new = self.dialect.releases().is_some();
        for change in patch.get("json").map(Node::list).unwrap_or_default() {
            let pointer = change.get("path").and_then(Node::text);
            if let Some((pointer, value)) = pointer.and_then(|pointer| Some((pointer, change.get("value")?))) {
                self.value(kind, pointer, value);
            }
        }
        let changes = patch.get("json").map(Node::list).unwrap_or_default().iter();
        let changes = changes.filter(|change| !(may_be_new && adds(change)));
        for path in changes.flat_map(|change| [change.get("path"), change.get("from")]).flatten() {
            if let Some(pointer) = path.text() {
                self.pointer(kind, path.mark, pointer);
            }
        }
    }

    fn subject(&mut self, kind: &str, subject: &Node) {
        for field in list(subject, "fields") {
            let Some((at, pointer)) = field.get("at").and_then(|at| Some((at, at.text()?))) else { continue };
            let leads_somewhere = self.pointer(kind, at.mark, pointer);
            if let Some((by, name)) = field.get("sortedBy").and_then(|by| Some((by, by.text()?)))
                && leads_somewhere
            {
                self.pointer(kind, by.mark, &below(&format!("{pointer}/0"), name));
            }
            if let Some((other, pointer)) = field.get("sameAs").and_then(|other| Some((other, other.text()?))) {
                self.pointer(kind, other.mark, pointer);
            }
            self.tested(kind, pointer, field);
        }
        for (key, asked) in entries(subject, "mirrors") {
            let pointer = mirrored(&key.name);
            self.pointer(kind, key.mark, &pointer);
            self.asked(kind, &pointer, asked);
        }
        self.conditions(kind, self.dialect.standing(kind).lists(), subject);
        for parent in list(subject, "parents") {
            self.conditions(kind, &[StatusList::Parents, StatusList::Ancestors], parent);
        }
        for (_, listener) in entries(subject, "listeners") {
            self.conditions(kind, &[StatusList::Listeners], listener);
        }
    }

    /// A value, or a test of one, of what a pointer leads to.
    fn asked(&mut self, kind: &str, pointer: &str, asked: &Node) {
        match &asked.kind {
            Kind::Map(_) => self.tested(kind, pointer, asked),
            // Words that stand for no value and for the generation, whatever the type.
            Kind::Text(word) if word == "absent" || word == "current" => {}
            _ => self.value(kind, pointer, asked),
        }
    }

    /// The values that a test has.
    fn tested(&mut self, kind: &str, pointer: &str, test: &Node) {
        for value in test.get("equals").into_iter().chain(list(test, "oneOf")) {
            self.value(kind, pointer, value);
        }
        if let Some(value) = test.get("contains") {
            self.value(kind, &format!("{pointer}/-"), value);
        }
    }

    /// Whether a value can be what a pointer leads to, by its type.
    fn value(&mut self, kind: &str, pointer: &str, value: &Node) {
        let Some(wrong) = self.schemas.wrong_type_at(self.group(kind), kind, pointer, &value.value()) else { return };
        let path = match (pointer, &*wrong.path) {
            ("", within) => within.to_owned(),
            (pointer, "") => pointer.to_owned(),
            (pointer, within) => format!("{within} in {pointer}"),
        };
        let message = wrong_type(kind, &WrongType { path, ..wrong.clone() });
        self.found.push(self.source.problem(locate(value, &wrong.path), message, None));
    }

    /// Further fields and lists in the conditions of a subject, which stand in one of these lists.
    fn conditions(&mut self, kind: &str, lists: &[StatusList], of: &Node) {
        for (_, condition) in of.entries().iter().filter(|(key, _)| is_condition_type(&key.name)) {
            for (key, _) in ["fields", "below"].into_iter().flat_map(|field| entries(condition, field)) {
                self.field(kind, lists, key);
            }
            for (key, asked) in entries(condition, "fields") {
                // A type is as wrong in the next list.
                let told = self.found.len();
                for list in lists {
                    if self.found.len() == told {
                        self.asked(kind, &below(&list.condition(), &key.name), asked);
                    }
                }
            }
        }
    }

    fn field(&mut self, kind: &str, lists: &[StatusList], Key { mark, name }: &Key) {
        let missing = |pointer: &str| self.schemas.missing_at(self.group(kind), kind, pointer);
        // Of a kind that has no conditions there nothing can be said.
        let lists = lists.iter().filter(|list| missing(&list.conditions()).is_none());
        let in_each: Option<Vec<_>> = lists.map(|list| missing(&below(&list.condition(), name))).collect();
        if let Some(missing) = in_each.and_then(|mut in_each| in_each.pop()) {
            let message = format!("conditions of {kind} have no field `{name}`");
            self.found.push(self.source.problem(*mark, message, near(name, &missing.known)));
        }
    }

    /// Whether it leads somewhere.
    fn pointer(&mut self, kind: &str, mark: Mark, pointer: &str) -> bool {
        let Some(missing) = self.schemas.missing_at(self.group(kind), kind, pointer) else { return true };
        let help = missing.near().map(|near| format!("did you mean `{near}`?"));
        let message = format!("{kind} has nothing at `{}`", missing.pointer);
        self.found.push(self.source.problem(mark, message, help));
        false
    }

    /// The group of a kind, if that is one of the dialect's.
    fn group(&self, kind: &str) -> Option<&str> {
        self.dialect.kind(kind).map(|_| self.dialect.group_of(kind))
    }
}

fn list<'n>(node: &'n Node, name: &str) -> &'n [Node] {
    node.get(name).map(Node::list).unwrap_or_default()
}

fn entries<'n>(node: &'n Node, name: &str) -> &'n [(Key, Node)] {
    node.get(name).map(Node::entries).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::objects;
    use super::*;
    use crate::cluster::schemas::Schemas;

    const DIALECT: &str = "apiVersion: gateproof.dev/v1alpha1\nkind: Dialect\nmetadata: {name: lamps}\nspec:\n  title: Lamps\n  \
                           groups: [example.com]\n  kinds:\n    - {kind: House, plural: houses, scope: Cluster, role: class}\n    - \
                           {kind: Lamp, plural: lamps}\n    - {kind: Cable, plural: cables, conditions: parents}\n    - {kind: \
                           Shade, plural: shades, conditions: ancestors}\n    - {kind: Bulb, plural: bulbs}\n    - {kind: Gateway, \
                           plural: gateways}\n";

    fn definition(kind: &str, status: &Value) -> Value {
        let schema =
            json!({"type": "object", "properties": {"status": {"type": "object", "properties": status.clone()}}});
        json!({"spec": {
            "group": "example.com",
            "names": {"kind": kind},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}],
        }})
    }

    fn definitions() -> Vec<Value> {
        let errors = json!({"type": "array", "items": {"type": "object", "properties": {"type": {"type": "string"}}}});
        let properties = json!({"type": {"type": "string"}, "severity": {"type": "string"}, "errors": errors});
        let conditions = json!({"type": "array", "items": {"type": "object", "properties": properties}});
        let open = json!({"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let entries = json!({"type": "array", "items": {"type": "object", "properties": {"conditions": conditions}}});
        let phase = json!({"type": "string"});
        vec![
            definition("House", &json!({"phase": phase})),
            definition(
                "Lamp",
                &json!({"conditions": conditions, "listeners": entries, "phase": phase, "a/b": phase, "count": {"type": "integer"}}),
            ),
            definition("Cable", &json!({"parents": entries})),
            definition("Shade", &json!({"ancestors": entries})),
            definition("Bulb", &json!({"conditions": open})),
            definition("Gateway", &json!({"conditions": conditions, "phase": phase})),
        ]
    }

    /// Whatever it does there.
    #[rstest]
    #[case::add("{op: add, path: /status/phase, value: On}", None)]
    #[case::append("{op: add, path: /status/conditions/-, value: {}}", None)]
    #[case::label("{op: add, path: /metadata/labels/a, value: b}", None)]
    #[case::copied("{op: copy, path: /status/phase, from: /status/a~1b}", None)]
    #[case::misspelt_add("{op: add, path: /status/phaze, value: On}", Some(("/status/phaze", "Lamp has nothing at `/status/phaze`")))]
    #[case::misspelt_replace("{op: replace, path: /status/phaze, value: On}", Some(("/status/phaze", "Lamp has nothing at `/status/phaze`")))]
    #[case::misspelt_from("{op: copy, path: /status/phase, from: /status/c}", Some(("/status/c}", "Lamp has nothing at `/status/c`")))]
    #[case::text_for_a_number("{op: replace, path: /status/count, value: '3'}", Some(("'3'", "`/status/count` of a Lamp must be an integer, found a string")))]
    #[case::number("{op: replace, path: /status/count, value: 3}", None)]
    #[case::placeholder("{op: replace, path: /status/count, value: \"${port}\"}", None)]
    #[case::nothing("{op: replace, path: /status/count, value: null}", None)]
    #[case::wrong_in_a_mapping("{op: replace, path: /status/conditions/0, value: {severity: 3}}", Some(("severity", "`severity in /status/conditions/0` of a Lamp must be a string, found a number")))]
    #[case::tested("{op: test, path: /status/phase, value: [On]}", Some(("[On]", "`/status/phase` of a Lamp must be a string, found a list")))]
    #[case::no_list("{op: add, path: /status/phase/-, value: On}", Some(("/status/phase/-", "Lamp has nothing at `/status/phase/-`")))]
    fn what_is_patched_leads_somewhere(#[case] change: &str, #[case] wrong: Option<(&str, &str)>) {
        let definitions = definitions();
        let schemas = Schemas::with([&definitions[..]]);
        let text =
            format!("spec:\n  steps:\n    - patch:\n        target: Lamp/a\n        json:\n          - {change}\n");
        let found = objects("a.yaml", &text, &schemas, &Dialect::parse(DIALECT).unwrap());
        let told: Vec<_> = found.into_iter().map(|d| (d.line, d.column, d.message)).collect();
        let releases = "  releases: {definition: lamps.example.com, version: a, channel: b}\n";
        let released = Dialect::parse(&format!("{DIALECT}{releases}")).unwrap();
        let of_releases = objects("a.yaml", &text, &schemas, &released);
        assert_eq!(of_releases.is_empty(), wrong.is_none() || change.contains("op: add"), "{of_releases:?}");
        let wrong = wrong.map(|(at, message)| (6, change.find(at).unwrap() + 13, message.to_owned()));
        assert_eq!(told, wrong.into_iter().collect::<Vec<_>>());
    }

    #[rstest]
    #[case::field("Lamp/a: {Ready: {fields: {severity: {empty: true}}}}", None)]
    #[case::misspelt_field(
        "Lamp/a: {Ready: {fields: {severty: {empty: true}}}}",
        Some(("severty", "conditions of Lamp have no field `severty`", Some("severity")))
    )]
    #[case::unknown_field(
        "Lamp/a: {Ready: {fields: {importance: absent}}}",
        Some(("importance", "conditions of Lamp have no field `importance`", None))
    )]
    #[case::list("Lamp/a: {Ready: {below: {errors: []}}}", None)]
    #[case::misspelt_list(
        "Lamp/a: {Ready: {below: {error: []}}}",
        Some(("error:", "conditions of Lamp have no field `error`", Some("errors")))
    )]
    #[case::of_a_listener(
        "Lamp/a: {listeners: {l: {Ready: {fields: {severty: High}}}}}",
        Some(("severty", "conditions of Lamp have no field `severty`", Some("severity")))
    )]
    #[case::in_parents("Cable/a: {Ready: {fields: {severity: High}}}", None)]
    #[case::misspelt_in_parents(
        "Cable/a: {Ready: {fields: {severty: High}}}",
        Some(("severty", "conditions of Cable have no field `severty`", Some("severity")))
    )]
    #[case::misspelt_of_a_parent(
        "Cable/a: {parents: [{ref: Lamp/a, Ready: {fields: {severty: High}}}]}",
        Some(("severty", "conditions of Cable have no field `severty`", Some("severity")))
    )]
    #[case::in_ancestors("Shade/a: {Ready: {fields: {severity: High}}}", None)]
    #[case::misspelt_in_ancestors(
        "Shade/a: {Ready: {fields: {severty: High}}}",
        Some(("severty", "conditions of Shade have no field `severty`", Some("severity")))
    )]
    #[case::whatever_there_may_be("Bulb/a: {Ready: {fields: {severty: High}}}", None)]
    #[case::no_conditions("House/a: {Ready: {fields: {severty: High}}}", None)]
    #[case::no_kind("${lamp}: {Ready: {fields: {severty: High}}}", None)]
    #[case::mirror("Lamp/a: {mirrors: {phase: absent, /phase: On, a/b: On, /conditions/0/severity: High}}", None)]
    #[case::misspelt_mirror(
        "Lamp/a: {mirrors: {phaze: absent}}",
        Some(("phaze", "Lamp has nothing at `/status/phaze`", Some("phase")))
    )]
    #[case::misspelt_pointer(
        "Lamp/a: {mirrors: {/conditions/0/severty: absent}}",
        Some(("/conditions/0/severty", "Lamp has nothing at `/status/conditions/0/severty`", Some("severity")))
    )]
    #[case::below_a_text(
        "Lamp/a: {mirrors: {/phase/0: absent}}",
        Some(("/phase/0", "Lamp has nothing at `/status/phase/0`", None))
    )]
    #[case::misspelt_place(
        "Lamp/a: {fields: [{at: /status/phaze, absent: true}]}",
        Some(("/status/phaze", "Lamp has nothing at `/status/phaze`", Some("phase")))
    )]
    #[case::sorted("Lamp/a: {fields: [{at: /status/conditions, sortedBy: severity}]}", None)]
    #[case::misspelt_key_of_a_sorted_list(
        "Lamp/a: {fields: [{at: /status/conditions, sortedBy: severty}]}",
        Some(("severty", "Lamp has nothing at `/status/conditions/0/severty`", Some("severity")))
    )]
    #[case::told_once(
        "Lamp/a: {fields: [{at: /status/condition, sortedBy: severty}]}",
        Some(("/status/condition", "Lamp has nothing at `/status/condition`", Some("conditions")))
    )]
    #[case::number("Lamp/a: {fields: [{at: /status/count, equals: 3}, {at: /status/phase, oneOf: [On]}]}", None)]
    #[case::text_for_a_number(
        "Lamp/a: {fields: [{at: /status/count, equals: '3'}]}",
        Some(("'3'", "`/status/count` of a Lamp must be an integer, found a string", None))
    )]
    #[case::one_of(
        "Lamp/a: {fields: [{at: /status/phase, oneOf: [On, 3]}]}",
        Some(("3]", "`/status/phase` of a Lamp must be a string, found a number", None))
    )]
    #[case::item(
        "Lamp/a: {fields: [{at: /status/conditions, contains: On}]}",
        Some(("On}", "`/status/conditions/-` of a Lamp must be a mapping, found a string", None))
    )]
    #[case::number_of_a_mirror(
        "Lamp/a: {mirrors: {count: On}}",
        Some(("On}", "`/status/count` of a Lamp must be an integer, found a string", None))
    )]
    #[case::words_of_a_mirror("Lamp/a: {mirrors: {count: current, /count: absent}}", None)]
    #[case::number_in_a_condition(
        "Lamp/a: {Ready: {fields: {severity: 3}}}",
        Some(("3}", "`/status/conditions/0/severity` of a Lamp must be a string, found a number", None))
    )]
    #[case::number_in_ancestors(
        "Shade/a: {Ready: {fields: {severity: {oneOf: [3]}}}}",
        Some(("3]", "`/status/ancestors/0/conditions/0/severity` of a Shade must be a string, found a number", None))
    )]
    #[case::of_the_dialects_group("Gateway/a: {mirrors: {phase: On}}", None)]
    #[case::not_of_another_group(
        "Gateway/a: {fields: [{at: /status/listeners, empty: true}]}",
        Some(("/status/listeners", "Gateway has nothing at `/status/listeners`", None))
    )]
    fn what_is_asked_of_a_status_leads_somewhere(
        #[case] subject: &str,
        #[case] wrong: Option<(&str, &str, Option<&str>)>,
    ) {
        let definitions = definitions();
        let schemas = Schemas::with([&definitions[..]]);
        let dialect = Dialect::parse(DIALECT).unwrap();
        let held = |step: &str, indent: usize| {
            let text = format!("spec:\n  steps:\n    - {step}\n{}{subject}\n", " ".repeat(indent));
            let found = objects("a.yaml", &text, &schemas, &dialect);
            found.into_iter().map(|d| (d.line, d.column - indent, d.message, d.help)).collect::<Vec<_>>()
        };
        let wrong = wrong.map(|(written, message, near)| {
            let column = subject.find(written).unwrap() + 1;
            (4, column, message.to_owned(), near.map(|near| format!("did you mean `{near}`?")))
        });
        let wrong: Vec<_> = wrong.into_iter().collect();
        assert_eq!(held("settle:", 8), wrong);
        assert_eq!(held("hold:\n        never:", 10).len(), wrong.len());
        assert_eq!(held("hold:\n        always:", 10).len(), wrong.len());
        assert_eq!(held("either:\n        - settle:", 12).len(), wrong.len());
    }
}
