//! The report directory: what a run writes, and what a later one reads of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use gateproof_report::conformance::{self, Identity, LeftOut, ProfileRule};
use gateproof_report::record::{Outcome, ScenarioRecord};
use gateproof_report::{junit, markdown, terminal};

use super::{Failure, report};
use crate::log::Body;
use crate::run::{RunOutput, events_of};
use crate::scenario::Scenario;
use crate::target::pod_logs::PodLog;

/// Who was tested, for the ConformanceReport.
#[derive(Debug, Args)]
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
    #[arg(long, value_name = "WORD", default_value = "default", help_heading = "Conformance report")]
    mode: String,
}

/// Writes one report directory.
pub(crate) struct Writer {
    dir: PathBuf,
}

impl Writer {
    /// Makes the directory, so that a run does not end without a place for its reports.
    pub(crate) fn create(dir: &Path) -> Result<Writer, Failure> {
        let writer = Writer { dir: dir.to_owned() };
        fs::create_dir_all(dir).map_err(|error| writer.failure(dir, &error))?;
        let failures = writer.dir.join("failures");
        if failures.exists() {
            fs::remove_dir_all(&failures).map_err(|error| writer.failure(&failures, &error))?;
        }
        Ok(writer)
    }

    /// Where the log is streamed to.
    pub(crate) fn events_file(&self) -> PathBuf {
        self.dir.join("events.jsonl")
    }

    /// Writes every report.
    pub(crate) fn write(&self, output: &RunOutput, identity: &IdentityArgs) -> Result<(), Failure> {
        let record = &output.record;
        let internal = |error: String| Failure::environment(error, "this is a mistake of gateproof; please report it");
        self.file("record.json", &serde_json::to_string_pretty(record).map_err(|e| internal(e.to_string()))?)?;
        self.file("junit.xml", &junit::render(record).map_err(internal)?)?;
        self.file("summary.md", &markdown::render(record))?;
        let who = Identity {
            contact: identity.contact.clone(),
            organization: identity.organization.clone(),
            project: identity.project.clone(),
            url: identity.url.clone(),
            version: identity.version.clone(),
        };
        let who = if record.target.embedded { embedded() } else { who };
        let left_out =
            |scenario: &Arc<Scenario>| LeftOut { name: scenario.name.clone(), features: scenario.features.clone() };
        let left_out: Vec<LeftOut> = output.left_out.iter().map(left_out).collect();
        let (report, withheld) = conformance::build(record, &left_out, &profile_rules(), who, identity.mode.clone());
        if !withheld.is_empty() {
            let all: Vec<String> = withheld.iter().map(ToString::to_string).collect();
            eprintln!("no result in the ConformanceReport for {}", all.join(", "));
        }
        self.file("conformance-report.yaml", &report.to_yaml().map_err(|e| internal(e.to_string()))?)?;
        for scenario in record.scenarios.iter().filter(|s| is_failure(s) || s.outcome == Outcome::KnownFailure) {
            self.evidence(scenario, output)?;
        }
        Ok(())
    }

    /// One folder for a scenario that did not pass: what was expected, the status history, the exchanges, Kubernetes
    /// Events, and what the controller's Pods said.
    fn evidence(&self, scenario: &ScenarioRecord, output: &RunOutput) -> Result<(), Failure> {
        let folder = format!("failures/{}", scenario.name);
        fs::create_dir_all(self.dir.join(&folder)).map_err(|error| self.failure(&self.dir.join(&folder), &error))?;
        self.file(&format!("{folder}/failure.txt"), &terminal::failure(scenario, &output.record.arguments))?;
        let [mut objects, mut exchanges, mut writes, mut told] = [const { String::new() }; 4];
        for event in events_of(&output.events, &scenario.name) {
            let into = match &event.body {
                Body::Observed { .. } => &mut objects,
                Body::Probed { .. } | Body::Journal { .. } => &mut exchanges,
                Body::Wrote(_) => &mut writes,
                Body::KubernetesEvent(_) | Body::NoKubernetesEvents { .. } => &mut told,
                _ => continue,
            };
            if let Ok(line) = serde_json::to_string(event) {
                into.push_str(&line);
                into.push('\n');
            }
        }
        self.file(&format!("{folder}/status-history.jsonl"), &objects)?;
        self.file(&format!("{folder}/exchanges.jsonl"), &exchanges)?;
        self.file(&format!("{folder}/kubernetes-events.jsonl"), &told)?;
        self.file(&format!("{folder}/writes.jsonl"), &writes)?;
        let logs = output.logs.get(&scenario.name).map(Vec::as_slice).unwrap_or_default();
        for PodLog { name, text } in logs {
            match text {
                Ok(text) => self.file(&format!("{folder}/{name}.log"), text)?,
                Err(why) => self.file(&format!("{folder}/no-logs.txt"), &format!("{name}: {why}\n"))?,
            }
        }
        Ok(())
    }

    fn file(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|error| self.failure(&path, &error))
    }

    fn failure(&self, path: &Path, error: &std::io::Error) -> Failure {
        Failure::environment(
            format!("cannot write {}: {error}", path.display()),
            "name a directory that can be written with --report-dir",
        )
    }
}

fn is_failure(scenario: &ScenarioRecord) -> bool {
    matches!(scenario.outcome, Outcome::Failed | Outcome::Late | Outcome::Inconclusive)
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

/// Profiles as the ConformanceReport counts them.
pub(crate) fn profile_rules() -> Vec<ProfileRule> {
    let rule = |profile: &gateproof_suites::Profile| ProfileRule {
        name: profile.name.clone(),
        core: profile.core.iter().cloned().collect(),
        extended: profile.extended().map(str::to_owned).collect(),
    };
    gateproof_suites::profiles().iter().map(rule).collect()
}

/// Names of the scenarios that failed, came late or were inconclusive in an earlier run.
pub(crate) fn failed(dir: &Path) -> Result<Vec<String>, Failure> {
    let record = report::read_record(dir)?;
    let name = |s: &ScenarioRecord| s.name.split('#').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = record.scenarios.iter().filter(|s| is_failure(s)).map(name).collect();
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use gateproof_suites::{Membership, features};

    use super::*;

    /// Upstream's reports list TCPRoute and UDPRoute among the extended features of profiles in which they are core. They are
    /// counted as core.
    #[test]
    fn the_rules_are_those_of_the_table() {
        for (rule, profile) in profile_rules().iter().zip(gateproof_suites::profiles()) {
            assert_eq!(rule.name, profile.name);
            for feature in features() {
                let membership = profile.membership([feature.name.as_str()]);
                assert_eq!(rule.core.contains(&feature.name), membership == Some(Membership::Core), "{}", feature.name);
                let listed = membership == Some(Membership::Extended) || profile.also_extended.contains(&feature.name);
                assert_eq!(rule.extended.contains(&feature.name), listed, "{}", feature.name);
            }
        }
        let both = profile_rules().into_iter().filter(|rule| !rule.core.is_disjoint(&rule.extended));
        assert_eq!(both.map(|rule| rule.name).collect::<Vec<_>>(), ["GATEWAY-TCP", "GATEWAY-UDP"]);
    }
}
