//! Trouble of the API server is not the target's: it changes no verdict of a target that behaves.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::log::{Body, Timing, TimingProfile};
use gateproof::run::preflight::PREFLIGHT;
use gateproof::run::{Bystander, RunOptions, RunOutput, Silent, TargetChoice, run};
use gateproof::scenario::select::select;
use gateproof::scenario::{Scenario, Vocabulary, load};
use gateproof::target::clock;
use gateproof_apiserver::{Disturbance, Refusal};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Behaviour, Testbed, TestbedOptions};
use rstest::rstest;
use tokio::sync::RwLock;

/// Tests that run beside each other read it, and one that must not writes it.
static BESIDE_OTHERS: RwLock<()> = RwLock::const_new(());

/// Classes, Gateways, routes of both kinds, grants; waits, holds, patches, deletions.
const SELECTION: [&str; 6] = [
    "gatewayclass-accepted",
    "gateway-attached-*",
    "gateway-deleted",
    "httproute-missing-*",
    "TCPRoute",
    "httproute-status-*",
];

fn scenarios() -> Vec<Scenario> {
    selected(&SELECTION)
}

fn selected(selection: &[&str]) -> Vec<Scenario> {
    let vocabulary = Vocabulary::builtin();
    let all = load::builtin(&vocabulary).unwrap();
    let selection: Vec<String> = selection.iter().map(ToString::to_string).collect();
    let chosen = select(&all, &selection, &vocabulary).unwrap();
    chosen.into_iter().map(|index| all[index].clone()).collect()
}

/// The testbed as a cluster that is reached by a kubeconfig, over sockets.
fn options(testbed: &Testbed, timing: TimingProfile) -> RunOptions {
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: testbed.gateway_class().to_owned(),
        name: "in trouble".to_owned(),
    };
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    options.dial = vec![testbed.dial_rule().parse().unwrap()];
    options.single_gateway_class = Some(testbed.single_gateway_class().to_owned());
    options.timing = Some(Timing::of(timing));
    options
}

fn assert_all_passed(output: &RunOutput) {
    let others: Vec<_> = output.record.scenarios.iter().filter(|s| s.outcome != Outcome::Passed).collect();
    assert!(others.is_empty(), "{others:#?}");
    let broken: Vec<_> = output.record.contract.iter().filter(|rule| !rule.breaches.is_empty()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(output.leftovers, []);
    assert!(output.record.scenarios.len() > 20);
}

#[rstest]
#[case::too_many_requests(Refusal::TooManyRequests { retry_after: 1 }, 0.05)]
#[case::conflicts(Refusal::Conflict, 0.2)]
#[case::internal_errors(Refusal::Internal, 0.1)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_change_no_verdict(#[case] refusal: Refusal, #[case] share: f64) {
    let _beside = BESIDE_OTHERS.read().await;
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    testbed.server().trouble().refuse(refusal, share, 7);
    // A controller that is told to wait for a second needs more than the 5 s of a target in no trouble.
    let mut options = options(&testbed, TimingProfile::Embedded);
    options.timeout_scale = 4.0;
    let output = run(options, scenarios(), &mut Silent).await.unwrap();
    assert_all_passed(&output);
    testbed.shutdown().await;
}

/// Every watch ends, twice; with `compact`, what they missed is gone too, so they have to begin anew.
#[rstest]
#[case::dropped(false)]
#[case::expired(true)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_watches_change_no_verdict(#[case] compact: bool) {
    let _beside = BESIDE_OTHERS.read().await;
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    // Controllers that have to begin anew wait before they do, and longer the second time.
    let mut options = options(&testbed, TimingProfile::Embedded);
    options.timeout_scale = 4.0;
    let cut = async {
        for requests in [150, 300] {
            await_requests(&testbed, requests).await;
            if compact {
                testbed.server().compact();
            }
            testbed.server().trouble().cut_watches();
        }
    };
    let mut progress = Silent;
    let (output, ()) = tokio::join!(run(options, scenarios(), &mut progress), cut);
    let output = output.unwrap();
    let gaps = output.events.iter().filter(|event| matches!(event.body, Body::Gap { .. })).count();
    assert_eq!(gaps > 0, compact, "{gaps} gaps");
    assert_all_passed(&output);
    testbed.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_ten_seconds_changes_no_verdict() {
    let _beside = BESIDE_OTHERS.read().await;
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let options = options(&testbed, TimingProfile::Real);
    let outage = async {
        await_requests(&testbed, 150).await;
        testbed.server().trouble().go_away();
        clock::until(clock::now() + Duration::from_secs(10)).await;
        testbed.server().trouble().come_back();
    };
    let mut progress = Silent;
    let (output, ()) = tokio::join!(run(options, scenarios(), &mut progress), outage);
    let output = output.unwrap();
    let away: u64 = output.events.iter().filter_map(|event| unreachable(&event.body)).sum();
    assert!(away > 8_000_000, "{away} us");
    assert_all_passed(&output);
    testbed.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_comes_back_leaves_everything_open() {
    let _beside = BESIDE_OTHERS.read().await;
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(&testbed, TimingProfile::Embedded);
    let file = folder.path().join("events.jsonl");
    options.events_file = Some(file.clone());
    let outage = async {
        await_requests(&testbed, 150).await;
        testbed.server().trouble().go_away();
    };
    let mut progress = Silent;
    let (output, ()) = tokio::join!(run(options, scenarios(), &mut progress), outage);
    let output = output.unwrap();
    let outcomes = |outcome| output.record.scenarios.iter().filter(|s| s.outcome == outcome).count();
    assert!(outcomes(Outcome::Inconclusive) > 10);
    assert_eq!(outcomes(Outcome::Inconclusive) + outcomes(Outcome::Passed), output.record.scenarios.len());
    assert!(!output.leftovers.is_empty(), "what could not be removed is told");
    let logged = gateproof::log::codec::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(matches!(logged.last().unwrap().body, Body::RunEnded { interrupted: false }));
    testbed.shutdown().await;
}

/// How the harness names itself to the API server.
const HARNESS: &str = "gateproof/";

/// Turns a disturbance on when the first scenario does.
struct Disturber {
    testbed: Arc<Testbed>,
    way: Way,
}

/// What goes wrong with the watches of the harness.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Always(Disturbance),
    /// A gap, time and again, and whole watches between.
    Gaps,
}

impl std::fmt::Debug for Disturber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.way)
    }
}

#[async_trait]
impl Bystander for Disturber {
    async fn at_step(&self, scenario: &Scenario, _: usize) {
        if scenario.name == PREFLIGHT {
            return;
        }
        let trouble = self.testbed.server().trouble();
        match self.way {
            Way::Always(disturbance) => trouble.disturb(disturbance, HARNESS, 7),
            Way::Gaps => {
                let before = trouble.disturbed();
                trouble.disturb(Disturbance::Expired, HARNESS, 7);
                while trouble.disturbed() == before {
                    tokio::task::yield_now().await;
                }
                trouble.calm();
            }
        }
    }
}

struct Disturbed {
    outcomes: Vec<(String, Outcome)>,
    output: RunOutput,
    met: u64,
    /// What the harness asked: verb, resource, how often.
    requests: Vec<(String, String, u64)>,
}

/// Runs scenarios whose watches go wrong from the first step on.
async fn disturbed(way: Way, behaviour: Behaviour, selection: &[&str]) -> Disturbed {
    let options = TestbedOptions { behaviour, ..TestbedOptions::default() };
    let testbed = Arc::new(Testbed::start(options).await.unwrap());
    let mut options = self::options(&testbed, TimingProfile::Embedded);
    options.timeout_scale = 2.0;
    options.bystander = Some(Arc::new(Disturber { testbed: Arc::clone(&testbed), way }));
    let output = run(options, selected(selection), &mut Silent).await.unwrap();
    let own = testbed.requests().into_iter().filter(|counted| counted.user_agent.starts_with(HARNESS));
    Disturbed {
        outcomes: output.record.scenarios.iter().map(|s| (s.name.clone(), s.outcome)).collect(),
        output,
        met: testbed.server().trouble().disturbed(),
        requests: own.map(|counted| (counted.verb, counted.resource, counted.count)).collect(),
    }
}

impl Disturbed {
    fn logged(&self, test: impl Fn(&Body) -> bool) -> u64 {
        self.output.events.iter().filter(|event| test(&event.body)).count() as u64
    }

    /// Lists follow from gaps and doubts, and watches from ends that come ever more slowly.
    fn assert_few_requests(&self, way: Way) {
        let gaps = self.logged(|body| matches!(body, Body::Gap { .. }));
        let looks: u64 = self
            .output
            .events
            .iter()
            .map(|event| match &event.body {
                Body::Looked { found, .. } => found.len() as u64,
                _ => 0,
            })
            .sum();
        let doubts = self.logged(|body| matches!(body, Body::Blind { doubted: true, .. }));
        let sum = |verb: &str| self.requests.iter().filter(|(v, ..)| v == verb).map(|(.., count)| count).sum::<u64>();
        let watched = self.requests.iter().filter(|(verb, ..)| verb == "watch").count() as u64;
        // The first lists, those of notes that another run left, and of what is left at the end.
        assert!(
            sum("list") <= gaps + looks + 4 * watched,
            "{way:?}: {} lists, {gaps} gaps, {looks} looks",
            sum("list")
        );
        // Ten pauses make up more than ten seconds, and from then on one takes five at least.
        let by_time = watched * (12 + self.output.record.duration_ms / 5000);
        assert!(sum("watch") <= by_time + gaps + doubts, "{way:?}: {} watches, {by_time} by the time", sum("watch"));
    }
}

/// Whatever happens to the watches, a target that behaves is not to blame, and one that does not is not praised. All at once,
/// since most of it is waiting, but beside no other test: ten runs are enough for a small machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disturbed_watches_blame_nobody_and_praise_nobody() {
    let _alone = BESIDE_OTHERS.write().await;
    let ways = [
        Way::Always(Disturbance::Silent),
        Way::Always(Disturbance::Swallows(0.3)),
        Way::Always(Disturbance::Expired),
        Way::Always(Disturbance::Ends),
        Way::Gaps,
    ];
    let runs = ways.map(|way| {
        tokio::spawn(async move {
            let faulty = Behaviour::of(Some("reports-removed-backends-as-resolved")).unwrap();
            let few = [
                "httproute-missing-parent",
                "httproute-missing-reference-grant",
                "gateway-attached-routes",
                "gateway-deleted",
            ];
            let plain = disturbed(way, Behaviour::Plain, &few);
            (way, plain.await, disturbed(way, faulty, &["httproute-missing-backend"]).await)
        })
    });
    for run in futures::future::join_all(runs).await {
        let (way, plain, faulty) = run.unwrap();
        for run in [&plain, &faulty] {
            assert!(run.met > 0, "{way:?} was not met");
            run.assert_few_requests(way);
        }
        let count = |test: fn(Outcome) -> bool| plain.outcomes.iter().filter(|(_, outcome)| test(*outcome)).count();
        let blamed = count(|outcome| matches!(outcome, Outcome::Failed | Outcome::Late));
        assert_eq!(blamed, 0, "{way:?}: {:#?}", plain.output.record.scenarios);
        let passed = count(|outcome| outcome == Outcome::Passed);
        // On a machine that is too busy to tell, nothing is told.
        let late = plain.logged(|body| matches!(body, Body::Lagged { .. })) > 0;
        let reasons: Vec<_> = plain.output.record.scenarios.iter().map(|s| (&s.name, s.outcome, &s.reason)).collect();
        assert!(late || passed * 2 > plain.outcomes.len(), "{way:?}: {reasons:#?}");
        assert_eq!(faulty.outcomes.len(), 1);
        assert_ne!(faulty.outcomes[0].1, Outcome::Passed, "{way:?}");
    }
}

fn unreachable(body: &Body) -> Option<u64> {
    match body {
        Body::Unreachable { by } => Some(*by),
        _ => None,
    }
}

/// Returns once the run is in full swing.
async fn await_requests(testbed: &Testbed, count: u64) {
    while testbed.requests().iter().map(|counted| counted.count).sum::<u64>() < count {
        clock::until(clock::now() + Duration::from_millis(20)).await;
    }
}
