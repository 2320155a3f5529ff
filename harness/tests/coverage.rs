//! What the shipped scenarios and the status contract prove, and what tests and legal variants do, taken together.

#![allow(clippy::unwrap_used)]

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use gateproof::judge::contract::Contract;
use gateproof::scenario::select::clauses;
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof_controllers::{faults, variants};
use gateproof_suites::{blind_spots, profiles_of, requirement, requirements, upstream_tests};
use regex::Regex;
use rstest::rstest;
use serde::Deserialize;

static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| load::builtin(&Vocabulary::builtin()).unwrap());

#[test]
fn every_requirement_that_can_be_tested_is_proven() {
    let scenarios = &*SCENARIOS;
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).unwrap();
    let proven = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    let missing = requirements()
        .iter()
        .filter(|r| r.in_scope() && !proven.contains(r.id.as_str()) && contract.rules_proving(&r.id).is_empty())
        .map(|r| r.id.as_str())
        .collect::<Vec<_>>();
    assert_eq!(missing, Vec::<&str>::new());
}

/// A clause that nothing but the harness can keep is named by a test of ours, or by a legal variant that makes use of it.
#[test]
fn every_requirement_of_the_harness_itself_is_named() {
    let mut named = BTreeMap::<String, String>::new();
    let mut wrong = Vec::new();
    for file in sources() {
        let of_file = named_by_tests(&std::fs::read_to_string(&file).unwrap());
        wrong.extend(of_file.stray.into_iter().map(|line| format!("{}:{line}: above no test", file.display())));
        named.extend(of_file.ids.into_iter().map(|id| (id, file.display().to_string())));
    }
    let id = Regex::new(r"\b[A-Z][A-Z0-9]+-[0-9]{2}\b").unwrap();
    for variant in variants::catalogue() {
        let ids = id.find_iter(variant.source).map(|id| id.as_str().to_owned());
        named.extend(ids.map(|id| (id, format!("variant {}", variant.name))));
    }
    let unknown = named.iter().filter(|(id, _)| requirement(id).is_none());
    wrong.extend(unknown.map(|(id, by)| format!("{by} names {id}, which is no requirement")));
    let own = requirements().iter().filter(|one| one.untested.is_none() && one.later.is_none() && !one.in_scope());
    wrong.extend(own.filter(|one| !named.contains_key(&one.id)).map(|one| format!("nobody names {}", one.id)));
    assert_eq!(wrong, Vec::<String>::new());
}

/// The Rust files of every package that has tests.
fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = ["harness", "reports", "suites", "testbed"].map(|name| root.join(name)).to_vec();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// What the tests of a file hold.
#[derive(Debug, Default, PartialEq)]
struct Named {
    ids: Vec<String>,
    /// Lines that name something above what is no test.
    stray: Vec<usize>,
}

/// Reads lines such as `/// Holds IMPL-14.` or `/// Holds IMPL-14, IMPL-15 and K8S-12.`
fn named_by_tests(text: &str) -> Named {
    let holds = Regex::new(r"^\s*//[/!]? Holds ((?:[A-Z][A-Z0-9]+-[0-9]+(?:, | and )?)+)\.$").unwrap();
    let function = Regex::new(r"^\s*(?:pub(?:\(.*\))? )?(?:async )?fn ").unwrap();
    let test = Regex::new(r"^\s*#\[(?:test|rstest|tokio::test)\b").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut named = Named::default();
    for (number, line) in lines.iter().enumerate() {
        let Some(ids) = holds.captures(line).map(|found| found[1].to_owned()) else { continue };
        let mut below =
            lines[number + 1..].iter().take_while(|line| !line.trim().is_empty() && !function.is_match(line));
        if line.trim_start().starts_with("/// ") && below.any(|line| test.is_match(line)) {
            named.ids.extend(ids.replace(" and ", ", ").split(", ").map(str::to_owned));
        } else {
            named.stray.push(number + 1);
        }
    }
    named
}

#[rstest]
#[case::above("/// Holds AA-01.\n#[test]\nfn a() {}", &["AA-01"], &[])]
#[case::several("/// Why.\n///\n/// Holds AA-01, BB-02 and CC-03.\n#[rstest]\n#[case(\n    1,\n)]\nfn a(#[case] one: u8) {}", &["AA-01", "BB-02", "CC-03"], &[])]
#[case::within("mod a {\n    /// Holds AA-01.\n    #[tokio::test(start_paused = true)]\n    async fn a() {}\n}", &["AA-01"], &[])]
#[case::helper("/// Holds AA-01.\nfn a() {}\n#[test]\nfn b() {}", &[], &[1])]
#[case::apart("/// Holds AA-01.\n\n#[test]\nfn a() {}", &[], &[1])]
#[case::comment("// Holds AA-01.\n#[test]\nfn a() {}", &[], &[1])]
#[case::prose("/// Holds whatever AA-01 asks.\n#[test]\nfn a() {}", &[], &[])]
fn a_name_counts_above_a_test(#[case] text: &str, #[case] ids: &[&str], #[case] stray: &[usize]) {
    let ids = ids.iter().map(|&id| id.to_owned()).collect();
    assert_eq!(named_by_tests(text), Named { ids, stray: stray.to_vec() });
}

/// A blind spot that a scenario or a contract rule names has no reason to be left out, and any other has one.
#[test]
fn every_blind_spot_is_either_shown_or_left_out_for_a_reason() {
    let scenarios = &*SCENARIOS;
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).unwrap();
    let named = scenarios.iter().flat_map(clauses).collect::<BTreeSet<_>>();
    let wrong = blind_spots()
        .iter()
        .filter(|spot| {
            let clause = spot.clause();
            let shown = named.contains(clause.as_str()) || !contract.rules_proving(&clause).is_empty();
            shown == (spot.later.is_some() || spot.untested.is_some())
        })
        .map(|spot| spot.id.as_str())
        .collect::<Vec<_>>();
    assert_eq!(wrong, Vec::<&str>::new());
}

/// What a catalogue of upstream's tests says of one thing that a test would not notice.
#[derive(Deserialize)]
struct Remark {
    is: String,
}

/// A test of v1.7 in its catalogue.
#[derive(Deserialize)]
struct Catalogued {
    name: String,
    #[serde(default)]
    blind: Vec<NumberedRemark>,
}

#[derive(Deserialize)]
struct NumberedRemark {
    n: usize,
    #[serde(flatten)]
    remark: Remark,
}

#[derive(Deserialize)]
struct Catalogue {
    tests: Vec<Catalogued>,
}

/// Whatever the catalogues call a misbehaviour of targets stands in the table, by its number there.
#[test]
fn every_misbehaviour_of_the_catalogues_is_a_blind_spot() {
    let data = std::env::var_os("GATEPROOF_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    let file = |name: &str| std::fs::read_to_string(data.join("spec").join(name)).ok();
    let (Some(earlier), Some(of_v1_7)) = (file("blind-spots.yaml"), file("catalogue-v1.7.yaml")) else {
        process::skipped("catalogues", &format!("there are no catalogues of upstream's tests in {}", data.display()));
        return;
    };
    let earlier: BTreeMap<String, BTreeMap<usize, Remark>> = serde_yaml::from_str(&earlier).unwrap();
    let of_v1_7: Catalogue = serde_yaml::from_str(&of_v1_7).unwrap();
    let earlier = earlier
        .into_iter()
        .flat_map(|(test, remarks)| remarks.into_iter().map(move |(n, remark)| (format!("{test}.{n}"), remark)));
    let of_v1_7 = of_v1_7.tests.into_iter().flat_map(|Catalogued { name, blind }| {
        blind.into_iter().map(move |one| (format!("{name}.{}", one.n), one.remark))
    });
    let meant: BTreeSet<String> =
        earlier.chain(of_v1_7).filter(|(_, remark)| remark.is == "target").map(|(id, _)| id).collect();
    let known: BTreeSet<String> = blind_spots().iter().map(|spot| spot.id.clone()).collect();
    assert!(meant.len() > 200, "{} remarks are about targets", meant.len());
    assert_eq!(meant.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// No ConformanceReport counts these. That is as it must be for what two kinds of routes are needed for; another scenario
/// gets here by a mistake in its features.
#[test]
fn the_scenarios_outside_every_profile_are_the_known_ones() {
    let scenarios = &*SCENARIOS;
    let outside = scenarios.iter().filter(|s| profiles_of(s.features.iter().map(String::as_str)).is_empty());
    let mut names = outside.map(|scenario| scenario.name.as_str()).collect::<Vec<_>>();
    names.sort_unstable();
    let known = [
        "gateway-client-validation-spares-tls",
        "gateway-conflicting-protocols",
        "gateway-lets-fewer-kinds-in",
        "gateway-listener-protocol-changed-to-tls",
        "gateway-of-conflicts-alone",
        "gateway-refused-kind-of-route",
        "gateway-tcp-supported-kinds",
        "grpcroute-attached-beside-httproute",
        "grpcroute-beside-older-httproute",
        "grpcroute-beside-younger-httproute",
        "grpcroute-named-as-an-httproute",
        "grpcroute-named-rule",
        "grpcroute-parent-port",
        "grpcroute-request-headers-by-rule",
        "httproute-body-of-http2-client",
        "httproute-cookies-of-http2-client",
        "httproute-misdirected-over-http2",
        "httproute-rewrite-host-of-http2-client",
        "httproute-websocket-beside-grpcroute",
        "listenerset-protocol-conflict",
        "tcproute-named-as-others",
        "tlsroute-beside-https",
        "tlsroute-beside-wildcard-https",
        "tlsroute-listener-for-httproute",
        "tlsroute-listener-without-routes",
        "tlsroute-two-ports",
        "tlsroute-unknown-port",
        "udproute-beside-tcproute",
        "udproute-on-tls-listener",
    ];
    assert_eq!(names, known);
}

/// Upstream asks a test only of who claims its features; so does a scenario that is to stand for it.
#[test]
fn a_scenario_that_names_a_test_of_upstream_needs_its_features() {
    // What a release later calls otherwise, or a part of which has a feature of its own since.
    const RENAMED: [(&str, &str); 1] = [("httproute-retry-of-v1-6", "HTTPRouteRetry")];
    let scenarios = &*SCENARIOS;
    let mut lacking = Vec::new();
    for scenario in scenarios {
        for test in upstream_tests() {
            let is_named = clauses(scenario).iter().any(|clause| clause.strip_prefix("upstream:") == Some(test.name));
            let has_all = test.features.iter().all(|feature| scenario.features.iter().any(|own| own == feature));
            if is_named && !has_all && !RENAMED.contains(&(scenario.name.as_str(), test.name)) {
                lacking.push(format!("{}: {}", scenario.name, test.name));
            }
        }
    }
    assert_eq!(lacking, Vec::<String>::new());
}

/// What is proven and no fault breaks, sorted, with what keeps it from that.
const UNBROKEN: [(&str, &str); 3] = [
    (
        "GEP1364-24",
        "it is a rule for readers: leaving a condition out breaks nothing, and a test of ours holds how it is read",
    ),
    ("GEP1364-55", "it is a MAY: whoever leaves Ready out makes use of it, and whoever says it breaks another clause"),
    ("blind:HTTPRouteRetry.5", "it is asked up to v1.6 alone, and faults run with the newest definitions"),
];

/// Whether an expectation or a rule notices what it names, a fault alone can say that does just that.
#[test]
fn whatever_is_proven_is_broken_by_a_fault() {
    let scenarios = &*SCENARIOS;
    let contract = Contract::parse(gateproof_suites::contracts::GATEWAY_API).unwrap();
    let named = scenarios.iter().flat_map(clauses).map(|clause| clause.to_string());
    let known = requirements().iter().map(|one| one.id.clone()).chain(blind_spots().iter().map(|spot| spot.clause()));
    let proven: BTreeSet<String> =
        named.chain(known.filter(|clause| !contract.rules_proving(clause).is_empty())).collect();
    let broken = faults::catalogue().iter().flat_map(|fault| fault.clauses).copied().collect::<BTreeSet<_>>();
    let unbroken = proven.iter().map(String::as_str).filter(|clause| !broken.contains(clause)).collect::<Vec<&str>>();
    assert_eq!(unbroken, UNBROKEN.map(|(clause, _)| clause));
    assert!(UNBROKEN.iter().all(|(_, why)| why.len() > 20));
}
