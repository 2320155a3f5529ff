//! What goes wrong around a target is not the target's: it changes no verdict of one that behaves, and hides none of one that does
//! not. What goes wrong, and with what, is drawn by seeds: `GATEPROOF_SEED=N` repeats one, `GATEPROOF_SEEDS=N` draws that many.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use gateproof::cluster::clock;
use gateproof::dialects::Reference;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::kill::ShownBy;
use gateproof::log::{Body, Timing, TimingProfile};
use gateproof::run::preflight::PREFLIGHT;
use gateproof::run::{Bystander, RunOptions, RunOutput, Silent, TargetChoice, run};
use gateproof::scenario::select::select;
use gateproof::scenario::{Scenario, Vocabulary, load, scope};
use gateproof_apiserver::{Disturbance, Refusal};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Behaviour, Testbed, TestbedOptions};
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// How many seeds are drawn, if none is given.
const SEEDS: u64 = 2;

/// What goes wrong for each seed, each with other scenarios.
const WAYS: usize = 3;

/// Scenarios of the plain reference each time.
const SCENARIOS: usize = 4;

/// Most of their time is waiting, and each is two runs.
const AT_ONCE: usize = 4;

/// Threads of each.
const WORKERS: usize = 2;

/// Whatever happens, one of these fails where it is looked at.
const FAULTS: [&str; 7] = [
    "answers-404-for-missing-backends",
    "ignores-reference-grants",
    "renews-entries-of-former-parents",
    "reports-removed-backends-as-resolved",
    "reports-revoked-grants-as-resolved",
    "serves-deleted-routes",
    "takes-any-kind-for-a-service",
];

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
    selected(&SELECTION.map(str::to_owned))
}

fn selected(selection: &[String]) -> Vec<Scenario> {
    let vocabulary = Vocabulary::builtin();
    let all = load::builtin(&vocabulary).unwrap();
    let chosen = select(&all, selection, &vocabulary).unwrap();
    // The targets here have every definition.
    chosen.into_iter().map(|index| all[index].clone()).filter(|one| scope::definitions(one).is_empty()).collect()
}

/// The testbed as a cluster that is reached by a kubeconfig, over sockets.
fn options(testbed: &Testbed, timing: TimingProfile) -> RunOptions {
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "in trouble".to_owned(),
    };
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    options.dial = vec![testbed.dial_rule().parse().unwrap()];
    options.single_gateway_class = Some(testbed.single_gateway_class().to_owned());
    options.timing = Some(Timing::of(timing));
    options
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_comes_back_leaves_everything_open() {
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

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// The API server refuses this share of all requests.
    Refuses(Refusal, f64),
    /// Every watch ends, twice; those who watched go on where they were.
    Cut,
    /// The same, and what they missed is gone too, so they have to begin anew.
    Forgets,
    /// The API server is away for ten seconds.
    Away,
    /// The watches of the harness go wrong.
    Watches(Disturbance),
    /// A gap in the watches of the harness, time and again, and whole watches between.
    Gaps,
    /// The target does late what it may do late, and says so in its reason.
    Late { variant: &'static str, reason: &'static str },
    /// Nobody gets to run for a second and a half, at every step.
    Starved,
}

const ALL_WAYS: [Way; 15] = [
    Way::Refuses(Refusal::TooManyRequests { retry_after: 1 }, 0.1),
    Way::Refuses(Refusal::Conflict, 0.2),
    Way::Refuses(Refusal::Internal, 0.1),
    Way::Refuses(Refusal::Lost, 0.1),
    Way::Cut,
    Way::Forgets,
    Way::Away,
    Way::Watches(Disturbance::Silent),
    Way::Watches(Disturbance::Swallows(0.3)),
    Way::Watches(Disturbance::Expired),
    Way::Watches(Disturbance::Ends),
    Way::Gaps,
    Way::Late { variant: "variant:starts-data-planes-late", reason: "NoResources" },
    Way::Late { variant: "variant:assigns-addresses-late", reason: "AddressNotAssigned" },
    Way::Starved,
];

impl Way {
    /// Whether the harness is left without what it needs to tell everything.
    fn blinds(self) -> bool {
        matches!(self, Way::Watches(_) | Way::Gaps | Way::Starved)
    }

    /// Whether each request or event has a share of it, and no more.
    fn falls_by_chance(self) -> bool {
        matches!(self, Way::Refuses(..) | Way::Watches(Disturbance::Swallows(_)))
    }

    fn behaviour(self, fault: Option<&str>) -> Behaviour {
        let variant = if let Way::Late { variant, .. } = self { Some(variant) } else { None };
        let names: Vec<&str> = fault.into_iter().chain(variant).collect();
        Behaviour::of((!names.is_empty()).then(|| names.join("+")).as_deref()).unwrap()
    }
}

/// Does what goes wrong when the first scenario begins, and later.
struct Disturber {
    testbed: Arc<Testbed>,
    way: Way,
    seed: u64,
    steps: AtomicU32,
    gaps: tokio::sync::Mutex<()>,
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
        let step = self.steps.fetch_add(1, Ordering::SeqCst);
        let trouble = self.testbed.server().trouble();
        match self.way {
            // Once: what is drawn would begin anew.
            Way::Watches(disturbance) if step == 0 => trouble.disturb(disturbance, HARNESS, self.seed),
            Way::Gaps => {
                // Steps of several scenarios come at once, and each would end the gap that another waits for.
                let _one = self.gaps.lock().await;
                let before = trouble.disturbed();
                trouble.disturb(Disturbance::Expired, HARNESS, self.seed);
                while trouble.disturbed() == before {
                    tokio::task::yield_now().await;
                }
                trouble.calm();
            }
            Way::Cut | Way::Forgets if [1, 3].contains(&step) => {
                if self.way == Way::Forgets {
                    self.testbed.server().compact();
                }
                trouble.cut_watches();
            }
            Way::Away if step == 1 => {
                trouble.go_away();
                let testbed = Arc::clone(&self.testbed);
                tokio::spawn(async move {
                    clock::until(clock::now() + Duration::from_secs(10)).await;
                    testbed.server().trouble().come_back();
                });
            }
            Way::Starved => {
                for _ in 0..WORKERS {
                    tokio::spawn(async {
                        let until = clock::now() + Duration::from_millis(1500);
                        while clock::now() < until {
                            std::hint::spin_loop();
                        }
                    });
                }
            }
            Way::Watches(_) | Way::Cut | Way::Forgets | Way::Away | Way::Refuses(..) | Way::Late { .. } => {}
        }
    }
}

struct Disturbed {
    way: Way,
    output: RunOutput,
    /// Requests that the API server refused, and watches that it disturbed.
    met: u64,
    /// What the harness asked: verb, resource, how often.
    requests: Vec<(String, String, u64)>,
}

/// Runs scenarios while something goes wrong.
async fn disturbed(way: Way, seed: u64, fault: Option<&str>, selection: &[String]) -> Disturbed {
    let options = TestbedOptions { behaviour: way.behaviour(fault), ..TestbedOptions::default() };
    let testbed = Arc::new(Testbed::start(options).await.unwrap());
    if let Way::Refuses(refusal, share) = way {
        testbed.server().trouble().refuse(refusal, share, seed);
    }
    let timing = if way == Way::Away { TimingProfile::Real } else { TimingProfile::Embedded };
    let mut options = self::options(&testbed, timing);
    // A controller that is told to wait for a second, or has to begin anew, needs more than that of a target in no trouble.
    options.timeout_scale = match way {
        Way::Away => 1.0,
        Way::Refuses(..) | Way::Cut | Way::Forgets => 4.0,
        _ => 2.0,
    };
    let (steps, gaps) = Default::default();
    options.bystander = Some(Arc::new(Disturber { testbed: Arc::clone(&testbed), way, seed, steps, gaps }));
    let output = run(options, selected(selection), &mut Silent).await.unwrap();
    let own = testbed.requests().into_iter().filter(|counted| counted.user_agent.starts_with(HARNESS));
    let trouble = testbed.server().trouble();
    Disturbed {
        way,
        output,
        met: trouble.refused() + trouble.disturbed(),
        requests: own.map(|counted| (counted.verb, counted.resource, counted.count)).collect(),
    }
}

impl Disturbed {
    fn logged(&self, test: impl Fn(&Body) -> bool) -> u64 {
        self.output.events.iter().filter(|event| test(&event.body)).count() as u64
    }

    /// Whether what was to go wrong did.
    fn was_met(&self) -> bool {
        match self.way {
            Way::Refuses(..) | Way::Watches(_) | Way::Gaps => self.met > 0,
            Way::Cut => self.requests.iter().any(|(verb, _, count)| verb == "watch" && *count > 1),
            Way::Forgets => self.logged(|body| matches!(body, Body::Gap { .. })) > 0,
            Way::Away => {
                self.output.events.iter().filter_map(|event| unreachable(&event.body)).sum::<u64>() > 8_000_000
            }
            Way::Late { reason, .. } => self.output.events.iter().any(|event| format!("{event:?}").contains(reason)),
            Way::Starved => self.lagged(),
        }
    }

    /// Whether the machine was too busy to tell everything.
    fn lagged(&self) -> bool {
        self.logged(|body| matches!(body, Body::Lagged { .. })) > 0
    }

    fn outcomes(&self) -> Vec<(&str, Outcome, Option<&str>)> {
        self.output.record.scenarios.iter().map(|s| (s.name.as_str(), s.outcome, s.reason.as_deref())).collect()
    }

    /// The target behaves: it is not to blame.
    fn assert_blames_nobody(&self) {
        let (way, outcomes) = (self.way, self.outcomes());
        let count = |test: fn(Outcome) -> bool| outcomes.iter().filter(|(_, outcome, _)| test(*outcome)).count();
        let blamed = count(|outcome| matches!(outcome, Outcome::Failed | Outcome::Late));
        assert_eq!(blamed, 0, "{way:?}: {:#?}", self.output.record.scenarios);
        // A controller that comes back late from an outage may have to think again, which is worth a warning.
        let broken: Vec<_> = self.output.record.contract.iter().filter(|rule| rule.fails()).collect();
        assert!(broken.is_empty(), "{way:?}: {broken:#?}");
        // What goes by is waited for, but on a machine that is too busy to tell nothing is told.
        let (passed, all) = (count(|outcome| outcome == Outcome::Passed), outcomes.len());
        assert!(all > 0);
        let enough = if way.blinds() { passed * 2 >= all } else { passed == all };
        assert!(enough || self.lagged(), "{way:?}: {outcomes:#?}");
        if !way.blinds() {
            assert_eq!(self.output.leftovers, [], "{way:?}");
        }
    }

    /// The target misbehaves: it is not praised.
    fn assert_praises_nobody(&self) {
        assert_eq!(self.output.record.scenarios.len(), 1);
        assert_ne!(self.output.record.scenarios[0].outcome, Outcome::Passed, "{:?}", self.way);
    }

    /// Lists follow from gaps and doubts, and watches from ends that come ever more slowly.
    fn assert_few_requests(&self) {
        let way = self.way;
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
        // The first lists, those of notes that another run left, and of what is left at the end. Each kind is watched for other
        // people's objects too, and what that misses is listed without a word in the log.
        assert!(
            sum("list") <= 2 * gaps + looks + 5 * watched,
            "{way:?}: {} lists, {gaps} gaps, {looks} looks",
            sum("list")
        );
        // Ten pauses make up more than ten seconds, and from then on one takes five at least.
        let by_time = 2 * watched * (12 + self.output.record.duration_ms / 5000);
        assert!(
            sum("watch") <= by_time + 2 * gaps + doubts,
            "{way:?}: {} watches, {by_time} by the time",
            sum("watch")
        );
    }
}

/// One way for things to go wrong, with scenarios of the plain reference and one of a faulty one.
#[derive(Debug)]
struct Draw {
    seed: u64,
    way: Way,
    plain: Vec<String>,
    fault: &'static str,
    shown_by: String,
}

impl Draw {
    fn of(seed: u64) -> Vec<Draw> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let names: Vec<String> = scenarios().into_iter().map(|scenario| scenario.name).collect();
        let shown_by = ShownBy::builtin(Reference::GatewayApi).unwrap();
        let ways: Vec<Way> = ALL_WAYS.choose_multiple(&mut random, WAYS).copied().collect();
        ways.into_iter()
            .map(|way| {
                let fault = FAULTS.choose(&mut random).copied().unwrap();
                Draw {
                    seed,
                    way,
                    plain: names.choose_multiple(&mut random, SCENARIOS).cloned().collect(),
                    fault,
                    shown_by: shown_by.of(fault)[0].scenario.clone(),
                }
            })
            .collect()
    }

    async fn hold(&self) {
        let plain = disturbed(self.way, self.seed, None, &self.plain);
        let faulty = disturbed(self.way, self.seed, Some(self.fault), std::slice::from_ref(&self.shown_by));
        let (plain, faulty) = tokio::join!(plain, faulty);
        // A short run may be spared by chance, both are not.
        let met = [&plain, &faulty].map(Disturbed::was_met);
        let enough = if self.way.falls_by_chance() { met.contains(&true) } else { met == [true; 2] };
        assert!(enough, "{:?} was not met", self.way);
        for run in [&plain, &faulty] {
            if matches!(self.way, Way::Watches(_) | Way::Gaps) {
                run.assert_few_requests();
            }
        }
        plain.assert_blames_nobody();
        faulty.assert_praises_nobody();
    }
}

/// The seed of `GATEPROOF_SEED`, or as many new ones as `GATEPROOF_SEEDS` asks for.
fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    match number("GATEPROOF_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("GATEPROOF_SEEDS").unwrap_or(SEEDS)).map(|_| u64::from(rand::random::<u32>())).collect(),
    }
}

/// Each has threads of its own: what starves one is not to starve the others.
fn apart(draw: Draw) -> tokio::task::JoinHandle<()> {
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().unwrap();
        runtime.block_on(draw.hold());
    })
}

/// Whatever goes wrong, a target that behaves is not to blame, and one that does not is not praised. The seeds stand in the
/// output of a run that passes, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_wrong_blames_nobody_and_praises_nobody() {
    let draws: Vec<Draw> = seeds().into_iter().flat_map(Draw::of).collect();
    let mut held = futures::stream::iter(draws)
        .map(|draw| async move {
            let said = format!("GATEPROOF_SEED={} {draw:?}\n", draw.seed);
            std::io::stderr().write_all(said.as_bytes()).unwrap();
            apart(draw).await.map_err(|error| format!("{said}{error}"))
        })
        .buffer_unordered(AT_ONCE);
    let mut wrong = Vec::new();
    while let Some(ended) = held.next().await {
        wrong.extend(ended.err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
