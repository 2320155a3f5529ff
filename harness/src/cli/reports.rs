//! What a run writes into its report directory.

use std::sync::Arc;

use clap::Args;
use gateproof_report::conformance::{self, ConformanceReport, Identity, Implementation, LeftOut};
use gateproof_report::record::RunRecord;
use gateproof_report::{junit, markdown};

use super::baseline::Baseline;
use super::failures::Folders;
use super::log_file::{events_so_far, is_streamed};
use super::own::{Needs, Own};
use super::page::page;
use super::profiles::profile_rules;
use super::report_dir::{CONFORMANCE, HTML, JUNIT, RECORD, SUMMARY};
use super::shelf::Shelf;
use super::{Failure, diagnose, own};
use crate::run::RunOutput;
use crate::scenario::Scenario;
use crate::suite::Suite;

/// Who was tested, for the ConformanceReport.
#[derive(Debug, Clone, Args)]
pub(crate) struct IdentityArgs {
    /// Organisation, for the ConformanceReport
    #[arg(long, value_name = "NAME", default_value = "", help_heading = "Conformance report")]
    organization: String,
    /// Project
    #[arg(long, value_name = "NAME", default_value = "", help_heading = "Conformance report")]
    project: String,
    /// Home page
    #[arg(long, value_name = "URL", default_value = "", help_heading = "Conformance report")]
    url: String,
    /// Version of the implementation: a release, not a branch
    #[arg(
        long = "implementation-version",
        value_name = "VERSION",
        default_value = "",
        help_heading = "Conformance report"
    )]
    version: String,
    /// Whom to ask
    #[arg(long, value_name = "CONTACT", help_heading = "Conformance report")]
    contact: Vec<String>,
    /// The report's mode
    #[arg(long, value_name = "WORD", default_value = MODE, help_heading = "Conformance report")]
    mode: String,
}

/// The report's mode unless given.
const MODE: &str = "default";

/// What means something in some dialects alone.
const OWN: [Own<IdentityArgs>; 1] = [Own {
    name: "what is said for a ConformanceReport",
    needs: Needs::Reports,
    is_given: IdentityArgs::is_given,
    leave: IdentityArgs::leave,
}];

impl IdentityArgs {
    /// Refuses what means nothing in a dialect.
    pub(super) fn is_of(&self, suite: &Suite) -> Result<(), Failure> {
        own::foreign(&OWN, self, &suite.dialect)
    }

    /// Leaves to one of several dialects what means something in it. What means nothing in any of them stays, and is refused.
    pub(super) fn keep(&mut self, ours: &Suite, all: &[&Suite]) {
        own::keep(&OWN, self, ours, all);
    }

    /// Whether anything is said.
    pub(crate) fn is_given(&self) -> bool {
        let texts = [&self.organization, &self.project, &self.url, &self.version];
        texts.into_iter().any(|text| !text.is_empty()) || !self.contact.is_empty() || self.mode != MODE
    }

    /// What a report says already.
    pub(crate) fn of(report: &ConformanceReport) -> IdentityArgs {
        let Implementation { contact, organization, project, url, version } = report.implementation.clone();
        let mode = report.mode.clone().unwrap_or_else(|| MODE.to_owned());
        IdentityArgs { organization, project, url, version, contact, mode }
    }

    /// Leaves all of it out.
    pub(crate) fn leave(&mut self) {
        let texts = [&mut self.organization, &mut self.project, &mut self.url, &mut self.version];
        texts.into_iter().for_each(String::clear);
        self.contact.clear();
        MODE.clone_into(&mut self.mode);
    }
}

/// Writes every report of a run.
pub(crate) fn write(
    dir: &mut dyn Shelf,
    output: &RunOutput,
    identity: &IdentityArgs,
    baseline: Option<&Baseline>,
) -> Result<(), Failure> {
    let record = &output.record;
    let internal = |error: String| Failure::environment(error, "this is a mistake of gateproof; please report it");
    dir.write(&[JUNIT], &junit::render(record).map_err(internal)?)?;
    dir.write(&[SUMMARY], &markdown::render_with(record, &diagnose::lines_after(record)?))?;
    // The log in memory has not all of it.
    let log = dir.events_file()?;
    let news = baseline.and_then(|before| before.news(record));
    dir.write(&[HTML], &page(record, std::slice::from_ref(&log), news)?)?;
    conformance_report(dir, record, &output.left_out, identity)?;
    let mut folders = Folders::of(record, &output.logs);
    if is_streamed(&log) {
        output.events.iter().try_for_each(|event| folders.event(event, dir))?;
    } else if folders.are_wanted() {
        events_so_far(&log, |event| folders.event(&Arc::new(event), dir))?;
    }
    folders.finish(dir)?;
    dir.write(&[RECORD], &serde_json::to_string_pretty(record).map_err(|e| internal(e.to_string()))?)
}

/// What upstream is told, in the dialect that has such reports. `left_out` are the scenarios that were not selected and could have run.
pub(crate) fn conformance_report(
    dir: &mut dyn Shelf,
    record: &RunRecord,
    left_out: &[Arc<Scenario>],
    identity: &IdentityArgs,
) -> Result<(), Failure> {
    let internal = |error: String| Failure::environment(error, "this is a mistake of gateproof; please report it");
    let who = Identity {
        contact: identity.contact.clone(),
        organization: identity.organization.clone(),
        project: identity.project.clone(),
        url: identity.url.clone(),
        version: identity.version.clone(),
    };
    let who = if record.target.embedded { embedded() } else { who };
    let left_out =
        left_out.iter().map(|scenario| LeftOut { name: scenario.name.clone(), features: scenario.features.clone() });
    let left_out: Vec<LeftOut> = left_out.collect();
    if record.impatient {
        dir.note("no ConformanceReport of a run that judged before the time was up (--impatient)");
        return Ok(());
    }
    // Other dialects have no report of that kind.
    if let Some(release) = &record.target.gateway_api_version {
        let (report, withheld) =
            conformance::build(record, &left_out, &profile_rules(release), who, identity.mode.clone());
        if !withheld.is_empty() {
            let all: Vec<String> = withheld.iter().map(ToString::to_string).collect();
            dir.note(&format!("no result in the ConformanceReport for {}", all.join(", ")));
        }
        dir.write(&[CONFORMANCE], &report.to_yaml().map_err(|e| internal(e.to_string()))?)?;
    }
    Ok(())
}

/// A report of the embedded reference never passes for one of a real implementation.
fn embedded() -> Identity {
    Identity {
        contact: vec!["none: the embedded reference of gateproof".to_owned()],
        organization: "gateproof".to_owned(),
        project: "embedded-reference".to_owned(),
        url: "https://gateproof.dev".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
