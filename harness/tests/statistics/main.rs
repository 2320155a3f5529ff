//! How often the statistical checks of the shipped manifests err: by 10,000 runs of each, and computed. `docs/statistics.md` holds
//! what comes out.
#![allow(clippy::unwrap_used)]

mod exact;
mod staying;

use std::fmt::Write;
use std::sync::OnceLock;
use std::time::Duration;

use exact::{Chain, Splitter};
use gateproof::judge::statistics::{
    BLIPS, COUNTINGS, Decision, FALSE_ALARM, FLAPS_OVERLOOKED, MIRRORED_SHARE, OVERLOOKED, SharePlan,
    requests_to_notice,
};
use gateproof::log::{Timing, TimingProfile};
use gateproof::run::options::DEFAULT_MAX_PROBES;
use gateproof::scenario::{Answer, Probe, Share, Verb, Vocabulary, load};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Runs of each check against a correct splitter.
const RUNS: u32 = 10_000;
/// Runs of each check against a wrong one, which take longer.
const WRONG_RUNS: u32 = 2_000;
/// What is meant by noticing a wrong split: in this share of the runs.
const NOTICED: f64 = 0.99;

/// A probe that counts.
struct Check {
    /// Scenario and step.
    place: String,
    /// What is counted, in words.
    expected: String,
    of: Of,
    /// What a network does to its attempts, if it is asked without HTTP.
    loses: Option<Loses>,
}

/// What of an attempt a network loses.
#[derive(Clone, Copy)]
enum Loses {
    /// Segments of a stream, which come late.
    Segments,
    /// Some of several datagrams.
    Datagrams,
    /// The only datagram, or the answer to it.
    TheDatagram,
}

/// The chance that each segment, or each datagram, is lost.
const LOST: f64 = 0.01;

impl Loses {
    fn of(probe: &Probe, parts: &[(Share, u32)]) -> Option<Loses> {
        match (&probe.method, probe.datagrams) {
            (Some(_), _) => None,
            (None, false) => Some(Loses::Segments),
            (None, true) if parts.iter().any(|(share, _)| *share == Share::NoAnswer) => Some(Loses::TheDatagram),
            (None, true) => Some(Loses::Datagrams),
        }
    }

    /// The chance that an attempt comes to nothing for it on a cluster, as unit tests of `harness/src/probe/` compute it; of a single
    /// datagram, that it is taken for one of silence.
    fn chance(self) -> f64 {
        match self {
            Loses::Segments => 1.6e-7,
            Loses::Datagrams => 1.7e-7,
            Loses::TheDatagram => 1.0 - (1.0 - LOST).powi(2),
        }
    }

    /// A correct splitter behind such a network.
    fn splits(self, correct: Splitter) -> Splitter {
        match self {
            Loses::Segments | Loses::Datagrams => Splitter { stray: self.chance(), ..correct },
            Loses::TheDatagram => Splitter { first: correct.first * (1.0 - self.chance()), ..correct },
        }
    }
}

enum Of {
    /// Weights, and the margin in points.
    Shares(Vec<u32>, f64),
    /// Copies of a mirror.
    Mirror,
}

/// Every probe of the shipped manifests that counts, in order.
fn checks() -> Vec<Check> {
    let scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let mut all = Vec::new();
    for scenario in &scenarios {
        for step in &scenario.steps {
            let Verb::Probe(probe) = &step.verb else { continue };
            let place = format!("{} `steps[{}]`", scenario.name, step.index);
            match &probe.answer {
                Answer::Shares { parts, margin } => {
                    let named = parts.iter().map(|(share, weight)| format!("{} {weight}", name(share)));
                    let weights = parts.iter().map(|(_, weight)| *weight).collect();
                    let expected = named.collect::<Vec<_>>().join(", ");
                    all.push(Check {
                        place,
                        expected,
                        of: Of::Shares(weights, *margin),
                        loses: Loses::of(probe, parts),
                    });
                }
                Answer::Http(seen) if !seen.mirrored_to.is_empty() => {
                    let expected = format!("each request at {} once", seen.mirrored_to.join(" and "));
                    all.push(Check { place, expected, of: Of::Mirror, loses: None });
                }
                _ => {}
            }
        }
    }
    all
}

fn name(share: &Share) -> String {
    match share {
        Share::Status(code) => code.to_string(),
        other => other.to_string(),
    }
}

/// The plan of a check. In which order the parts stand makes no difference.
fn plan(weights: &[u32], margin: f64) -> SharePlan {
    let mut weights = weights.to_vec();
    weights.sort_unstable_by(|a, b| b.cmp(a));
    SharePlan::new(&weights, margin, DEFAULT_MAX_PROBES)
}

/// What a check notices.
struct Known {
    plan: SharePlan,
    /// The smallest share that goes from one part to another and is noticed in either direction; `None` if there is one part.
    shift: Option<f64>,
    /// The smallest share that goes where nothing should, and is noticed.
    stray: f64,
}

/// Every plan of a check of shares once, with what it notices.
fn known() -> &'static [Known] {
    static ALL: OnceLock<Vec<Known>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut plans: Vec<SharePlan> = Vec::new();
        for check in checks() {
            if let Of::Shares(weights, margin) = check.of {
                plans.push(plan(&weights, margin));
            }
        }
        let mut all: Vec<Known> = Vec::new();
        for plan in plans {
            if all.iter().all(|one| one.plan != plan) {
                all.push(notice(plan));
            }
        }
        assert!(all.len() > 3);
        all
    })
}

fn notice(plan: SharePlan) -> Known {
    let tests = most_tests();
    let mut chain = Chain::new(plan.clone());
    let correct = chain.correct();
    let shift = chain.has_two_parts().then(|| {
        smallest(plan.margin, |shift| {
            let mut noticed = |first| chain.ends(Splitter { first, ..correct }).disagree.powi(tests);
            noticed(correct.first + shift).min(noticed(correct.first - shift))
        })
    });
    let stray = smallest(plan.margin, |stray| chain.ends(Splitter { stray, ..correct }).disagree.powi(tests));
    Known { plan, shift, stray }
}

/// The most tests that a wrong split has to fail within one probe: a test that disagrees starts over until budget and grace are
/// over, and the pauses alone bound how often that is.
fn most_tests() -> i32 {
    let tests = |profile| {
        let Timing { converge, grace, backoff_min, backoff_max, .. } = Timing::of(profile);
        let (mut tests, mut pause, mut at) = (1, backoff_min, Duration::ZERO);
        while at < converge + grace {
            at += pause;
            pause = (pause * 2).min(backoff_max);
            tests += 1;
        }
        tests
    };
    tests(TimingProfile::Embedded).max(tests(TimingProfile::Real))
}

/// The smallest deviation that is noticed often enough, in whole tenths of a percentage point. It is sought from above: what is
/// far too small to be noticed takes long to compute.
fn smallest(most: f64, mut noticed: impl FnMut(f64) -> f64) -> f64 {
    let tenths = |number: u32| f64::from(number) / 1000.0;
    let mut high = (1..).find(|number| tenths(*number) >= most).unwrap();
    assert!(noticed(tenths(high)) >= NOTICED, "not even {high} tenths are noticed");
    for step in [16, 4, 1] {
        while high > step && noticed(tenths(high - step)) >= NOTICED {
            high -= step;
        }
    }
    tenths(high)
}

fn points(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// The mirror that copies this share of the requests is not let off by the best of its countings.
fn mirror_noticed(share: f64) -> f64 {
    let requests = i32::try_from(requests_to_notice(MIRRORED_SHARE, OVERLOOKED, COUNTINGS)).unwrap();
    (1.0 - share.powi(requests)).powi(i32::try_from(COUNTINGS).unwrap())
}

fn table() -> String {
    let mut out = String::from(
        "| check | expected | margin | requests on average | false alarms of one test | smallest wrong split | smallest stray share |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let row = |known: &Known| {
        let mut chain = Chain::new(known.plan.clone());
        let ends = chain.ends(chain.correct());
        let alarms = if ends.disagree > 0.0 { format!("{:.0e}", ends.disagree) } else { "0".to_owned() };
        let shift = known.shift.map_or_else(|| "–".to_owned(), points);
        format!("{} | {:.0} | {alarms} | {shift} | {}", points(known.plan.margin), ends.mean, points(known.stray))
    };
    let rows: Vec<(&SharePlan, String)> = known().iter().map(|known| (&known.plan, row(known))).collect();
    let requests = requests_to_notice(MIRRORED_SHARE, OVERLOOKED, COUNTINGS);
    let lost = points(smallest(1.0 - MIRRORED_SHARE, |lost| mirror_noticed(1.0 - lost)));
    for Check { place, expected, of, .. } in checks() {
        let row = match of {
            Of::Shares(weights, margin) => {
                let plan = plan(&weights, margin);
                rows.iter().find(|(of, _)| **of == plan).unwrap().1.clone()
            }
            Of::Mirror => format!("– | {requests} | 0 | {lost} | –"),
        };
        let _ = writeln!(out, "| {place} | {expected} | {row} |");
    }
    out
}

fn table_of_losses() -> String {
    let mut out = String::from(
        "| check | an attempt | one test | two tests |\n\
         |---|---|---|---|\n",
    );
    for check in checks() {
        let (Some(loses), Of::Shares(weights, margin)) = (check.loses, &check.of) else { continue };
        if let Loses::TheDatagram = loses {
            assert!(weights.iter().all(|weight| *weight == weights[0]), "which part is silent makes no difference");
        }
        let mut chain = Chain::new(plan(weights, *margin));
        let splits = loses.splits(chain.correct());
        let one = chain.ends(splits).disagree;
        let _ = writeln!(out, "| {} | {:.1e} | {one:.0e} | {:.0e} |", check.place, loses.chance(), one * one);
    }
    out
}

/// Whatever is asked over TCP, TLS or UDP: what a network loses fails it in no more than one run of a million.
#[test]
fn the_page_says_what_losses_do() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/statistics.md")).unwrap();
    let table = table_of_losses();
    assert!(page.contains(&table), "docs/statistics.md lacks:\n{table}");
    let twice = |row: &str| row.rsplit('|').nth(1).and_then(|cell| cell.trim().parse::<f64>().ok());
    let all: Vec<f64> = table.lines().skip(2).filter_map(twice).collect();
    assert!(all.len() > 5 && all.iter().all(|chance| *chance < 1e-6), "{all:?}");
}

#[test]
fn the_page_holds_the_table() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/statistics.md")).unwrap();
    let table = table();
    assert!(page.contains(&table), "docs/statistics.md lacks:\n{table}");
    let tests = most_tests();
    assert!(
        page.contains(&format!("{tests} tests")),
        "docs/statistics.md does not say that it is {tests} tests at most"
    );
}

/// Whether a count is what this chance gives, by five standard deviations.
fn is_likely(count: u32, chance: f64, runs: u32) -> bool {
    let mean = chance * f64::from(runs);
    (f64::from(count) - mean).abs() <= 5.0 * (mean * (1.0 - chance)).sqrt() + 1.0
}

/// A rate of one in a million shows in no simulation, so the same test is tried at a rate that does, too.
#[test]
fn a_correct_splitter_is_called_wrong_no_more_often_than_is_stated() {
    for Known { plan, .. } in known() {
        let mut chain = Chain::new(plan.clone());
        let correct = chain.correct();
        assert!(chain.ends(correct).disagree <= FALSE_ALARM, "{plan:?}");
        assert_eq!(chain.misses(correct, Decision::Agree, RUNS), 0, "{plan:?}");
        let loose = SharePlan { false_alarm: 0.05, ..plan.clone() };
        let mut chain = Chain::new(loose.clone());
        let (ends, alarms) = (chain.ends(correct), chain.misses(correct, Decision::Agree, RUNS));
        assert!(ends.disagree <= loose.false_alarm, "{plan:?}: {ends:?}");
        assert!(f64::from(alarms) <= loose.false_alarm * f64::from(RUNS), "{plan:?}: {alarms}");
        assert!(is_likely(alarms, 1.0 - ends.agree, RUNS), "{plan:?}: {alarms}, but {ends:?}");
    }
}

/// What the table says is noticed often enough is, in runs that are drawn as in those that are computed. So is what is noticed
/// less often.
#[test]
fn a_wrong_splitter_is_noticed_as_often_as_is_stated() {
    for Known { plan, shift, stray } in known() {
        let mut chain = Chain::new(plan.clone());
        let correct = chain.correct();
        let mut wrong = vec![Splitter { stray: *stray, ..correct }, Splitter { stray: stray / 4.0, ..correct }];
        for shift in shift.iter().flat_map(|shift| [*shift, -shift, shift * 0.75]) {
            wrong.push(Splitter { first: correct.first + shift, ..correct });
        }
        for splitter in wrong {
            let ends = chain.ends(splitter);
            let missed = chain.misses(splitter, Decision::Disagree, WRONG_RUNS);
            assert!(
                is_likely(missed, 1.0 - ends.disagree, WRONG_RUNS),
                "{plan:?} {splitter:?}: {missed}, but {ends:?}"
            );
        }
    }
}

#[test]
fn a_poor_mirror_is_noticed_as_often_as_is_stated() {
    let requests = requests_to_notice(MIRRORED_SHARE, OVERLOOKED, COUNTINGS);
    for share in [MIRRORED_SHARE, 0.94, 0.98] {
        let let_off = |seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            (0..COUNTINGS).any(|_| (0..requests).all(|_| rng.random_bool(share)))
        };
        let missed: u32 = (0..u64::from(RUNS)).map(|seed| u32::from(let_off(seed))).sum();
        assert!(
            is_likely(missed, 1.0 - mirror_noticed(share), RUNS),
            "{share}: {missed}, but {}",
            mirror_noticed(share)
        );
    }
    assert!(mirror_noticed(MIRRORED_SHARE) >= 1.0 - OVERLOOKED);
}

/// The shares of wrong answers that the page tells of.
const WRONG: [f64; 5] = [0.5, 0.25, 0.1, 0.05, 0.01];

fn percent(chance: f64) -> String {
    let rounded = format!("{:.0} %", chance * 100.0);
    if chance < 1.0 && rounded == "100 %" { "> 99 %".to_owned() } else { rounded }
}

fn table_of_staying() -> String {
    let mut out = String::from(
        "| limits | wrong answers | one probe fails at least | or warns at least | three probes in a row see nothing |\n|---|---|---|---|---|\n",
    );
    for (name, profile) in [("embedded", TimingProfile::Embedded), ("a cluster", TimingProfile::Real)] {
        for wrong in WRONG {
            let ends = staying::ends(&staying::plan(profile), wrong);
            let (flaps, noticed) = (percent(ends.flaps.powi(2)), percent(1.0 - ends.silent));
            let missed = percent(ends.silent.powi(3));
            let _ = writeln!(out, "| {name} | {} | {flaps} | {noticed} | {missed} |", percent(wrong));
        }
    }
    out
}

#[test]
fn the_page_says_what_is_noticed_of_flapping() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/statistics.md")).unwrap();
    let table = table_of_staying();
    assert!(page.contains(&table), "docs/statistics.md lacks:\n{table}");
    for profile in [TimingProfile::Embedded, TimingProfile::Real] {
        let Decision::MoreProbes(mut probes) = gateproof::judge::statistics::stays(&staying::plan(profile), 0, 0)
        else {
            panic!("nothing is asked")
        };
        while let Decision::MoreProbes(more) = gateproof::judge::statistics::stays(&staying::plan(profile), probes, 0) {
            probes += more;
        }
        let all = probes + Timing::of(profile).consecutive;
        assert!(page.contains(&format!("{all} answers")), "docs/statistics.md does not say that it is {all} answers");
    }
}

#[test]
fn staying_errs_no_more_often_than_is_stated() {
    for profile in [TimingProfile::Embedded, TimingProfile::Real] {
        let plan = staying::plan(profile);
        let alarms = staying::ends(&plan, BLIPS).flaps;
        assert!(alarms <= FALSE_ALARM, "{profile:?}: {alarms:e}");
        let flaps = staying::ends(&plan, plan.flaps);
        assert!(1.0 - flaps.flaps <= FLAPS_OVERLOOKED, "{profile:?}: {flaps:?}");
        assert!(staying::ends(&plan, 0.0).silent > 1.0 - 1e-9);
        for wrong in WRONG {
            let flaps = staying::ends(&plan, wrong).flaps;
            let drawn = staying::drawn(&plan, wrong, WRONG_RUNS);
            assert!(is_likely(drawn, flaps, WRONG_RUNS), "{profile:?} {wrong}: {drawn} of {WRONG_RUNS}, {flaps}");
        }
    }
}
