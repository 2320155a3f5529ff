//! Scenario manifests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use indexmap::IndexMap;

use crate::cluster::schemas::Schemas;
use crate::judge::contract::{Contract, GATEWAY_API};
use crate::log::{Authority, BackendBinding, Bindings, GatewayBinding};
use crate::scenario::bind::needs;
use crate::scenario::{Diagnostic, Scenario, Vocabulary, bind, expectations, lines, lint, parse};

/// A text is refused with problems that have a place in it, or holds scenarios that bind, and whose expectations have names
/// of their own that do not change by binding.
pub fn manifest(data: &[u8]) {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::builtin);
    static CONTRACT: LazyLock<Option<Contract>> = LazyLock::new(|| Contract::parse(GATEWAY_API).ok());
    let text = String::from_utf8_lossy(data);
    lint::objects("a.yaml", &text, &Schemas::default(), &VOCABULARY.dialect)
        .iter()
        .for_each(|problem| has_a_place(problem, &text));
    if let Some(contract) = &*CONTRACT {
        let found = lint::said("a.yaml", &text, contract, &VOCABULARY.dialect);
        found.iter().for_each(|problem| has_a_place(problem, &text));
    }
    match parse("a.yaml", &text, &VOCABULARY) {
        Ok(scenarios) => {
            assert!(!scenarios.is_empty());
            scenarios.iter().for_each(binds);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            problems.iter().for_each(|problem| has_a_place(problem, &text));
        }
    }
}

fn has_a_place(problem: &Diagnostic, text: &str) {
    let line = lines(text).nth(problem.line.wrapping_sub(1));
    // Behind the last line break there is one more line, and behind the last character one more column.
    let line = line.unwrap_or_else(|| panic!("line {} is not in {text:?}: {problem}", problem.line));
    assert!((1..=line.chars().count() + 1).contains(&problem.column), "{}:{}: {problem}", problem.line, problem.column);
    assert!(!problem.message.is_empty());
    let rendered = format!("{:?}", miette::Report::new(problem.clone()));
    assert!(rendered.contains("a.yaml"), "{rendered}");
}

fn binds(scenario: &Scenario) {
    let ids = |scenario: &Scenario| -> Vec<String> {
        expectations::enumerate(scenario).into_iter().map(|expectation| expectation.id.to_string()).collect()
    };
    let names = ids(scenario);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    // What cannot be bound is an error of its own kind; the rest keeps its names.
    if let Ok(bound) = bind(scenario, &bindings(scenario)) {
        assert_eq!(ids(&bound), names);
    }
}

/// A name for everything that the scenario needs.
fn bindings(scenario: &Scenario) -> Bindings {
    let needs = needs(scenario);
    let own = |prefix: &str, aliases: &mut dyn Iterator<Item = &String>| -> IndexMap<String, String> {
        aliases.map(|alias| (alias.clone(), format!("{prefix}-{alias}"))).collect()
    };
    let mut namespaces = own("ns", &mut scenario.namespaces.keys());
    namespaces.insert("ns".to_owned(), "ns-t".to_owned());
    let gateway = |alias: &String| {
        let gateway = GatewayBinding { namespace: "pool".into(), name: alias.clone(), shape: "http".into() };
        (alias.clone(), gateway)
    };
    let backends = scenario.backends.iter().map(|backend| {
        let namespace = format!("ns-{}", backend.namespace);
        (backend.name.clone(), BackendBinding { namespace, service: backend.name.clone(), identity: "i".into() })
    });
    let authority = Authority { certificate: "pem".into(), key: String::new() };
    Bindings {
        cluster_scoped: Vec::new(),
        scenario: scenario.name.clone(),
        run_id: "r".into(),
        token: "t".into(),
        namespaces,
        hosts: own("host", &mut needs.hosts.iter()),
        gateways: scenario.gateways.keys().map(gateway).collect(),
        backends: backends.collect(),
        authorities: needs.authorities.into_iter().map(|alias| (alias, authority.clone())).collect(),
        names: own("name", &mut needs.names.iter()),
        ports: needs.ports.iter().map(|alias| (alias.clone(), 80)).collect(),
        gateway_class: Some("class".into()),
        single_gateway_class: Some("single".into()),
        usable_address: Some("192.0.2.7".into()),
        controller_name: Some("example.com/controller".into()),
    }
}
