//! Faults in what is sent to Azure and in what is made of its answers: values that are dropped, taken from elsewhere, or mixed up.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::Fault;
use crate::{
    arm::Purpose,
    behaviour::Seam,
    kinds::Source,
    world::{Facts, Input},
};

/// Sends none of the values that come from such a source.
fn drop(facts: &mut Facts, source: Source) {
    facts.inputs.retain(|input| input.source != source || input.value.is_err());
}

/// Sends something else in the place of each value that comes from such a source.
fn replace(facts: &mut Facts, source: Source, other: impl Fn(&Value, &str) -> String) {
    let Facts { kind, object, inputs, .. } = facts;
    for Input { property, value, .. } in inputs.iter_mut().filter(|input| input.source == source) {
        let rule = kind.inputs.iter().find(|rule| rule.property == *property);
        let given = rule.map_or(&Value::Null, |rule| &object["spec"][rule.field]);
        if let Ok(value) = value {
            *value = other(given, value);
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "sends-no-secrets",
        summary: "Leaves out what a resource takes from a Secret.",
        clauses: &["ASO-A45"],
        seam: Seam::World(|facts| drop(facts, Source::Secret)),
    },
    Fault {
        name: "sends-secrets-as-they-are-stored",
        summary: "Sends the value of a Secret as it is stored, in base64.",
        clauses: &["ASO-A45"],
        seam: Seam::World(|facts| replace(facts, Source::Secret, |_, value| STANDARD.encode(value))),
    },
    Fault {
        name: "sends-no-config-maps",
        summary: "Leaves out what a resource takes from a ConfigMap.",
        clauses: &["ASO-A46"],
        seam: Seam::World(|facts| drop(facts, Source::ConfigMap)),
    },
    Fault {
        name: "sends-keys-of-config-maps",
        summary: "Sends the key of a ConfigMap in the place of its value.",
        clauses: &["ASO-A46"],
        seam: Seam::World(|facts| {
            replace(facts, Source::ConfigMap, |given, _| given["key"].as_str().unwrap_or_default().to_owned());
        }),
    },
    Fault {
        name: "sends-no-references",
        summary: "Leaves out the resource that another refers to.",
        clauses: &["ASO-A47"],
        seam: Seam::World(|facts| drop(facts, Source::Resource)),
    },
    Fault {
        name: "sends-names-of-references",
        summary: "Sends the name of a resource that is referred to in the place of its id.",
        clauses: &["ASO-A47"],
        seam: Seam::World(|facts| {
            replace(facts, Source::Resource, |_, id| id.rsplit('/').next().unwrap_or_default().to_owned());
        }),
    },
    Fault {
        name: "mixes-up-inputs",
        summary: "Sends what comes from a ConfigMap in the place of the resource that is referred to, and the other way round.",
        clauses: &["ASO-A46"],
        seam: Seam::World(|facts| {
            let of = |inputs: &[Input], source| {
                inputs.iter().position(|input| input.source == source && input.value.is_ok())
            };
            let inputs = &mut facts.inputs;
            if let Some((one, other)) = of(inputs, Source::ConfigMap).zip(of(inputs, Source::Resource)) {
                let value = inputs[one].value.clone();
                inputs[one].value = std::mem::replace(&mut inputs[other].value, value);
            }
        }),
    },
    Fault {
        name: "sends-what-azure-has",
        summary: "Sends after an edit the tags that Azure has in the place of those that the spec names.",
        clauses: &["ASO-A48"],
        seam: Seam::Decision(|seen, decision| {
            let known = &seen.facts.object["status"]["tags"];
            if let Some(body) = decision.request.as_mut().and_then(|request| request.body.as_mut())
                && seen.facts.generation() > 1
                && known.is_object()
            {
                body["tags"] = known.clone();
            }
        }),
    },
    Fault {
        name: "mirrors-the-spec",
        summary: "Says in the status what the spec says, where Azure answered something else.",
        clauses: &["ASO-35"],
        seam: Seam::Writer(|write, statuses| {
            for (name, value) in write.live["spec"].as_object().into_iter().flatten() {
                for status in statuses.iter_mut().filter(|status| status.get(name).is_some_and(Value::is_string)) {
                    status[name] = value.clone();
                }
            }
        }),
    },
    Fault {
        name: "writes-no-secrets",
        summary: "Writes nothing to the Secrets that a resource names for it.",
        clauses: &["ASO-A40"],
        seam: Seam::Decision(|_, decision| decision.exports.retain(|(kind, _), _| *kind != "Secret")),
    },
    Fault {
        name: "mixes-up-keys",
        summary: "Writes the second key of an account in the place of the first, and the other way round.",
        clauses: &["ASO-A40"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Keys(_), Ok(response)) = (&request.purpose, outcome)
                && let Some(keys) = response.body["keys"].as_array_mut()
            {
                keys.reverse();
            }
        }),
    },
    Fault {
        name: "writes-no-config-maps",
        summary: "Writes nothing to the ConfigMaps that a resource names for it.",
        clauses: &["ASO-A49"],
        seam: Seam::Decision(|_, decision| decision.exports.retain(|(kind, _), _| *kind != "ConfigMap")),
    },
    Fault {
        name: "works-out-endpoints",
        summary: "Writes to ConfigMaps endpoints that it works out from the name, not those that Azure answered.",
        clauses: &["ASO-A49"],
        seam: Seam::Decision(|seen, decision| {
            for ((kind, _), values) in &mut decision.exports {
                let endpoint = format!("https://{}.blob.core.windows.net/", seen.facts.azure_name());
                values.values_mut().filter(|_| *kind == "ConfigMap").for_each(|value| value.clone_from(&endpoint));
            }
        }),
    },
];
