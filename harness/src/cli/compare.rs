//! `gateproof report compare`: a run beside a published report.

use std::path::PathBuf;

use gateproof_report::compare::{self, Agreement, Comparison, Here, Line, Published, Test};
use gateproof_report::conformance::ConformanceReport;
use gateproof_report::terminal::printable;
use gateproof_report::words::counted;
use gateproof_suites::upstream_tests;

use super::output::{self, Format, FormatArg, say};
use super::profiles::profile_rules;
use super::{Failure, Outcome, given};
use crate::dialects::Dialect;
use crate::exit_codes;
use crate::scenario::Version;

/// Hold a run against a published ConformanceReport, upstream test by upstream test.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  gateproof report compare gateproof-report conformance-report.yaml

A published report names only the tests that did not pass. Those that ran are known by the features that it claims.

Exit codes: 0 unless a test passed on one side and failed on the other, which is 1.")]
pub(crate) struct Args {
    /// The report directory of a run, or its record.json.
    record: PathBuf,
    /// A ConformanceReport of upstream's suite.
    published: PathBuf,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(crate) fn run(args: &Args) -> Outcome {
    let record = given::read_record(&args.record)?;
    if record.target.dialect != Dialect::gateway_api().name() {
        let problem = format!(
            "the run of {} is of the dialect `{}`, and ConformanceReports are of Gateway API alone",
            args.record.display(),
            printable(&record.target.dialect)
        );
        return Err(Failure::usage(problem, "`gateproof report diff` compares two runs of any dialect"));
    }
    let file = args.published.display();
    let published = ConformanceReport::from_yaml(&given::read(&args.published)?)
        .map_err(|error| Failure::usage(format!("{file}: {error}"), "see the place named above"))?;
    let release = &published.gateway_api_version;
    let version: Version = release.parse().map_err(|_| {
        let problem = format!("{file}: gatewayAPIVersion is `{release}`, which names no release");
        Failure::usage(problem, "which tests ran cannot be known; name a report of a release such as v1.5.1")
    })?;
    let comparison = compare::compare(&record, &published, &tests(version), &profile_rules(release));
    match args.format.format {
        Format::Json => output::json(&comparison)?,
        Format::Text => {
            let who = &published.implementation;
            let here = &record.target;
            output::columns(
                &[
                    ["published:", &format!("{} {}, Gateway API {release}", who.project, who.version)],
                    [
                        "here:",
                        &format!(
                            "{}, Gateway API {}",
                            here.name,
                            here.gateway_api_version.as_deref().unwrap_or_default()
                        ),
                    ],
                ]
                .map(|row| row.map(|cell| printable(cell).into_owned())),
            );
            print(&comparison);
        }
    }
    Ok(if comparison.count(Agreement::Disagrees) == 0 { exit_codes::PASSED } else { exit_codes::FAILED })
}

/// The tests that the suite of a release has, as far as v1.7.0 still has them.
fn tests(release: Version) -> Vec<Test> {
    let there = |since: &str| since.parse::<Version>().is_ok_and(|since| since <= release);
    let test = |test: &gateproof_suites::UpstreamTest| Test {
        name: test.name.to_owned(),
        features: test.features.iter().map(|feature| (*feature).to_owned()).collect(),
    };
    upstream_tests().iter().filter(|test| there(test.since)).map(test).collect()
}

const ORDER: [Agreement; 4] = [Agreement::Disagrees, Agreement::Stricter, Agreement::Open, Agreement::Agrees];

fn print(comparison: &Comparison) {
    let row = |line: &Line| {
        let said = format!("published {}, here {}", published(line.published), here(line.here));
        [agreement(line.agreement).to_owned(), line.test.clone(), said, line.scenarios.join(", ")]
    };
    let of = |wanted: Agreement| comparison.tests.iter().filter(move |line| line.agreement == wanted);
    output::columns(&ORDER.into_iter().flat_map(of).map(row).collect::<Vec<_>>());
    for miscount in &comparison.miscounts {
        say!(
            "{}: the report counts {}, its features select {} of those that are known",
            miscount.profile,
            counted(miscount.counted as usize, "test", "tests"),
            miscount.known
        );
    }
    let counts = ORDER.map(|wanted| format!("{} {}", comparison.count(wanted), agreement(wanted)));
    say!("{}: {}", counted(comparison.tests.len(), "test", "tests"), counts.join(", "));
}

fn agreement(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Agrees => "agrees",
        Agreement::Disagrees => "disagrees",
        Agreement::Stricter => "stricter",
        Agreement::Open => "open",
    }
}

fn published(published: Published) -> &'static str {
    match published {
        Published::Passed => "passed",
        Published::Failed => "failed",
        Published::Skipped => "left out",
    }
}

fn here(here: Here) -> &'static str {
    match here {
        Here::Passed => "passed",
        Here::Failed => "failed",
        Here::FailedElsewhere => "failed beside it",
        Here::Inconclusive => "inconclusive",
        Here::NotRun => "not run",
        Here::NotTested => "not tested",
    }
}
