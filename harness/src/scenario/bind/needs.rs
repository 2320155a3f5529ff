//! What names a scenario needs to be bound.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::kinds::is_cluster_scoped;
use super::super::model::{Answer, Ending, FieldTest, Parents, Scenario, Settle, SubjectExpectation, Verb};
use super::super::template::{self, Part, Slot};

/// The aliases that a scenario uses, beside its namespaces, Gateways and backends, which it declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Host aliases; the main one is `host`.
    pub hosts: BTreeSet<String>,
    /// Name aliases of cluster-scoped objects.
    pub names: BTreeSet<String>,
    /// Authorities, by alias: those of placeholders and those that sign certificates of backends.
    pub authorities: BTreeSet<String>,
    /// Port aliases.
    pub ports: BTreeSet<String>,
    /// Whether it needs a GatewayClass that takes one Gateway only.
    pub single_class: bool,
    /// Whether it needs an address that Gateways may ask for.
    pub address: bool,
}

/// The aliases that a scenario uses.
pub fn needs(scenario: &Scenario) -> Needs {
    let mut needs = Needs::default();
    let certificates = scenario.backends.iter().filter_map(|decl| decl.tls.as_ref());
    needs.authorities.extend(certificates.flat_map(|tls| [&tls.authority].into_iter().chain(&tls.clients)).cloned());
    for made in &scenario.made {
        needs.text(&made.object.name);
        // An alias alone is known by itself, as that of what is applied.
        if made.object.namespace.is_none() && is_cluster_scoped(&made.object.kind, &scenario.dialect) {
            needs.names.extend(Some(&made.object.name).filter(|name| !name.contains("${")).cloned());
        }
    }
    for step in &scenario.steps {
        match &step.verb {
            Verb::Apply(apply) => apply.objects.iter().for_each(|object| needs.value(object)),
            Verb::Patch(patch) => needs.value(&patch.patch),
            Verb::Settle(settle) => needs.settle(settle),
            Verb::Hold(hold) => hold.never.iter().chain(&hold.always).for_each(|s| needs.subject(s)),
            Verb::Probe(probe) => {
                let fields = probe.headers.values().chain(probe.trailers.values()).flatten().chain(&probe.among);
                let texts = [&probe.path, &probe.body].into_iter().chain(&probe.host).chain(fields);
                texts.for_each(|text| needs.text(text));
                let signers = probe.client.iter().map(|client| client.authority.as_str());
                needs.authorities.extend(signers.chain(probe.answer.trusted()).map(str::to_owned));
                if let Answer::Http(seen) = &probe.answer {
                    seen.texts().into_iter().for_each(|text| needs.text(text));
                }
                if let Answer::TlsBackend { certificate, server_name, .. } = &probe.answer {
                    certificate.iter().chain(server_name).for_each(|name| needs.text(name));
                }
            }
            Verb::Script(script) => script.rules.iter().for_each(|rule| needs.value(rule)),
            Verb::Requests(requests) => {
                requests.path.iter().chain(&requests.caller).for_each(|text| needs.text(text));
                requests.body.iter().flat_map(|one| one.test.values()).for_each(|value| needs.value(value));
            }
            Verb::Made(made) => {
                made.parts().flat_map(|(_, test)| test.values()).for_each(|value| needs.value(value));
            }
            Verb::Delete(_) => {}
        }
        for ending in &step.either {
            if let Ending::Settle(settle, _) = ending {
                needs.settle(settle);
            }
        }
    }
    needs
}

impl Needs {
    fn settle(&mut self, settle: &Settle) {
        settle.subjects.iter().for_each(|s| self.subject(s));
    }

    fn subject(&mut self, subject: &SubjectExpectation) {
        let listeners = subject.listeners.values().flat_map(|l| l.conditions.values());
        for condition in subject.conditions.values().chain(listeners) {
            condition.message.iter().flat_map(|m| &m.mentions).for_each(|text| self.text(text));
            condition.fields.values().flat_map(FieldTest::values).for_each(|value| self.value(value));
        }
        if let Parents::Selected(parents) = &subject.parents {
            parents.iter().for_each(|p| self.value(&p.parent_ref));
        }
        subject.fields.iter().flat_map(|field| field.test.values()).for_each(|value| self.value(value));
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.iter().for_each(|(key, value)| {
                self.text(key);
                self.value(value);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        // Unreadable placeholders were reported when the manifest was parsed.
        for part in template::parts(text).unwrap_or_default() {
            let Part::Slot(inside) = part else { continue };
            match template::slot(inside, |_| false) {
                Ok(Slot::Host(alias)) => self.hosts.insert(alias),
                Ok(Slot::Tls(tls)) => {
                    self.hosts.extend(tls.names.into_iter().map(|name| name.alias));
                    self.authorities.extend(tls.is_signed.then(|| template::SIGNER.to_owned()));
                    true
                }
                Ok(Slot::Authority(alias) | Slot::Client { authority: alias, .. }) => self.authorities.insert(alias),
                Ok(Slot::Name(alias)) => self.names.insert(alias),
                Ok(Slot::Port(alias)) => self.ports.insert(alias),
                Ok(Slot::SingleClass) => std::mem::replace(&mut self.single_class, true),
                Ok(Slot::Address) => std::mem::replace(&mut self.address, true),
                _ => false,
            };
        }
    }
}
