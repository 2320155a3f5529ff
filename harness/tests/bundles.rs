//! The scenarios hold on every supported release: official bundles in place of the built-in definitions.
//!
//! Some of the scenarios, most of them on one bundle in three; all of them on each with `GATEPROOF_FULL=1`, as nightly does.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use gateproof::dialects::Reference;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::run::{RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Vocabulary, load, select};
use gateproof_apiserver::crds::parse_bundle;
use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord, Severity};
use gateproof_report::terminal;

const RELEASES: [&str; 9] = ["v1.0.0", "v1.1.1", "v1.2.1", "v1.3.0", "v1.4.1", "v1.5.1", "v1.6.1", "v1.6.3", "v1.7.0"];
/// Those that have TCPRoute in their standard channel.
const TCP_IS_STANDARD: [&str; 3] = ["v1.6.1", "v1.6.3", "v1.7.0"];
const SELECTION: [&str; 9] = [
    "gatewayclass-accepted",
    "httproute-missing-backend*",
    "httproute-no-endpoints",
    "httproute-endpoints-go-and-come",
    "tcproute-*backend*",
    "httproute-*grant*",
    "*conflicting*",
    "httproute-retry*",
    "gateway-*-parameters",
];
/// What every release asks for, whatever the answers.
const OF_EVERY_RELEASE: [&str; 4] =
    ["gatewayclass-accepted", "httproute-missing-backend", "httproute-no-endpoints", "httproute-endpoints-go-and-come"];
/// What v1.6 alone asks for, in its experimental channel.
const OF_V1_6: [&str; 4] = [
    "httproute-retry-of-v1-6",
    "httproute-retry-backoff-of-v1-6",
    "httproute-retry-after-timeouts-of-v1-6",
    "httproute-retry-after-broken-connections-of-v1-6",
];
/// What those with TCPRoute ask for.
const OF_TCP: &str = "tcproute-missing-backend";
/// One bundle in how many has each of the others.
const ONE_IN: usize = 3;
/// Each has a cluster of its own; most of their time is waiting.
const AT_ONCE: usize = 3;
/// How often what stays open is asked again, by itself: a busy machine leaves things open that no target is to blame for.
const AGAIN: usize = 2;

/// Where official bundles are, below the folder that others tests find them by too.
fn bundles() -> PathBuf {
    let data = std::env::var_os("GATEPROOF_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    data.join("crds/gateway-api")
}

async fn record(bundle: &Path, scenarios: Vec<Scenario>) -> RunRecord {
    let text = std::fs::read_to_string(bundle).unwrap();
    let contract = Arc::new(Contract::parse(GATEWAY_API).unwrap());
    let once = async |scenarios: Vec<Scenario>| {
        let mut options = RunOptions::new(TargetChoice::embedded(Reference::GatewayApi, None), contract.clone());
        options.crds = parse_bundle(&text).unwrap().definitions;
        run(options, scenarios, &mut Silent).await.unwrap().record
    };
    let mut record = once(scenarios.clone()).await;
    for _ in 0..AGAIN {
        let is_open =
            |name: &str| record.scenarios.iter().any(|s| s.name == name && s.outcome == Outcome::Inconclusive);
        let open: Vec<Scenario> = scenarios.iter().filter(|one| is_open(&one.name)).cloned().collect();
        if open.is_empty() {
            break;
        }
        let again = once(open).await;
        record.scenarios.retain(|before| again.scenarios.iter().all(|now| now.name != before.name));
        record.scenarios.extend(again.scenarios);
        record.contract.extend(again.contract);
    }
    record
}

fn is_fine(scenario: &ScenarioRecord) -> bool {
    matches!(scenario.outcome, Outcome::Passed | Outcome::NotSupported)
}

fn passed(record: &RunRecord, name: &str) -> bool {
    record.scenarios.iter().any(|s| s.name == name && s.outcome == Outcome::Passed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_hold_on_every_release() {
    let dir = bundles();
    if !dir.is_dir() {
        process::skipped("bundles", &format!("there are no official bundles in {}", dir.display()));
        return;
    }
    let vocabulary = Vocabulary::builtin();
    let all = load::builtin(&vocabulary).unwrap();
    let is_full = std::env::var_os("GATEPROOF_FULL").is_some();
    let selection = if is_full { &["*"][..] } else { &SELECTION[..] };
    let selection: Vec<String> = selection.iter().map(ToString::to_string).collect();
    let chosen: Vec<Scenario> =
        select::select(&all, &selection, &vocabulary).unwrap().into_iter().map(|index| all[index].clone()).collect();
    let bundles = RELEASES.iter().flat_map(|release| ["standard", "experimental"].map(|channel| (*release, channel)));
    let is_asked_for = |name: &str| OF_EVERY_RELEASE.contains(&name) || OF_V1_6.contains(&name) || name == OF_TCP;
    let of_bundle = |bundle: usize| {
        let is_due = move |index: usize| is_full || (index + bundle).is_multiple_of(ONE_IN);
        let chosen = chosen.iter().enumerate().filter(move |(index, one)| is_due(*index) || is_asked_for(&one.name));
        chosen.map(|(_, one)| one.clone()).collect()
    };
    let records = futures::stream::iter(bundles.enumerate())
        .map(|(index, (release, channel))| {
            let (file, chosen) = (dir.join(release).join(format!("{channel}.yaml")), of_bundle(index));
            async move { (release, channel, record(&file, chosen).await) }
        })
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    for (release, channel, record) in records {
        let target = &record.target;
        assert_eq!(
            (target.gateway_api_version.as_deref(), target.gateway_api_channel.as_deref()),
            (Some(release), Some(channel))
        );
        let failed = record.scenarios.iter().any(|s| !is_fine(s));
        let broken = record.contract.iter().any(|r| r.severity == Severity::Failure && !r.breaches.is_empty());
        assert!(!failed && !broken, "{release} {channel}:\n{}", terminal::summary(&record));
        for name in OF_EVERY_RELEASE {
            assert!(passed(&record, name), "{name}: {release} {channel}");
        }
        let is_v1_6 = release.starts_with("v1.6.") && channel == "experimental";
        for name in OF_V1_6.iter().filter(|_| is_v1_6) {
            assert!(passed(&record, name), "{name}");
        }
        let tcp = channel == "experimental" || TCP_IS_STANDARD.contains(&release);
        assert_eq!(passed(&record, OF_TCP), tcp, "{release} {channel}");
    }
}
