//! What CI reads. Pure.

use gateproof_report::reproduce;
use serde_json::Value;

use super::Ci;
use super::carried;
use super::facts::Remote;
use super::shipped::Source;

/// Who is tested, until somebody says so.
const NOBODY: [[&str; 2]; 4] = [
    ["--organization", "ORGANIZATION"],
    ["--project", "PROJECT"],
    ["--url", "https://example.com"],
    ["--contact", "CONTACT"],
];
/// Kind brings nothing that serves Services of type LoadBalancer.
const FORWARDED: &[&str] = &[
    "kind gives Services of type LoadBalancer no address: what is behind one needs something in `install` that does.",
    "--port-forward goes through the API server to addresses that the runner cannot reach. Leave it out if it can.",
];
const REACHED: &[&str] = &[
    "kind gives Services of type LoadBalancer no address: what is behind one needs something in `install` that does.",
    "If the runner cannot reach the addresses of Gateways, add --port-forward: it goes through the API server.",
];
/// A runner within the cluster needs nothing more.
const HOSTED: &[&str] = &[
    "Backends run in this job, at its own address. If the data plane cannot reach that, as where the runner is not in its cluster,",
    "they can be Pods: build images/Dockerfile of gateproof, push it to where the cluster pulls, and add",
    "--backends deployed --backend-image IMAGE. If the job is reached at another address than its own, --backend-address names that.",
];
const UNREACHED: &str =
    "If the job cannot reach the addresses of Gateways, add --port-forward: it goes through the API server.";

/// What is written of one implementation.
pub(super) struct Workflow<'a> {
    pub(super) ci: Ci,
    pub(super) source: &'a Source,
    pub(super) remote: Option<&'a Remote>,
    /// The release of Gateway API.
    pub(super) release: &'a str,
    /// Whether it is that of the experimental channel.
    pub(super) is_experimental: bool,
    /// The command that brings the controller.
    pub(super) install: &'a str,
    pub(super) class: &'a str,
    /// The file of known failures.
    pub(super) known: &'a str,
    /// Options of the run beside these, with their values.
    pub(super) options: &'a [Vec<String>],
}

impl Workflow<'_> {
    /// Where it is read.
    pub(super) fn path(ci: Ci) -> &'static str {
        match ci {
            Ci::Github => ".github/workflows/gateproof.yml",
            Ci::Gitlab => ".gitlab/gateproof.yml",
        }
    }

    /// Its text.
    pub(super) fn render(&self) -> String {
        let Source { repository, reference, release } = self.source;
        let one = |text: &str| vec![quoted(text)];
        // An update looks for the release behind a commit.
        let comment = if self.source.is_release() { String::new() } else { format!(" # {release}") };
        let action = quoted(&format!("{repository}/.github/actions/gateproof@{reference}"));
        let version = (!self.source.is_release()).then(|| quoted(release));
        let channel = self.is_experimental.then(|| quoted("experimental"));
        let download =
            format!("https://github.com/{repository}/releases/download/{release}/gateproof-x86_64-linux.tar.gz");
        let known = match self.ci {
            Ci::Github => quoted(self.known),
            Ci::Gitlab => reproduce::line([self.known]),
        };
        let values = [
            ("@ACTION@", vec![format!("{action}{comment}")]),
            ("@VERSION@", version.into_iter().collect()),
            ("@DOWNLOAD@", one(&download)),
            ("@RELEASE@", one(self.release)),
            ("@CHANNEL@", channel.into_iter().collect()),
            ("@INSTALL@", one(self.install)),
            ("@CLASS@", one(self.class)),
            ("@KNOWN@", vec![known]),
            ("@REACH@", self.reach()),
            ("@ARGUMENTS@", self.arguments()),
        ];
        let template = match self.ci {
            Ci::Github => include_str!("github.yml"),
            Ci::Gitlab => include_str!("gitlab.yml"),
        };
        filled(template, &values)
    }

    /// How traffic gets to Gateways and from there to backends, as far as somebody has to think of it.
    fn reach(&self) -> Vec<String> {
        let is_forwarded = carried::has(self.options, "--port-forward");
        let lines = match self.ci {
            Ci::Github if is_forwarded => FORWARDED.to_vec(),
            Ci::Github => REACHED.to_vec(),
            Ci::Gitlab => {
                let hosted: &[&str] = if carried::has(self.options, "--backends") { &[] } else { HOSTED };
                hosted.iter().copied().chain((!is_forwarded).then_some(UNREACHED)).collect()
            }
        };
        lines.into_iter().map(str::to_owned).collect()
    }

    /// A line for each option, as they are read: by the action as words without quotes, on GitLab by a shell.
    fn arguments(&self) -> Vec<String> {
        let who: Vec<[String; 2]> = match self.remote {
            None => NOBODY.map(|words| words.map(str::to_owned)).to_vec(),
            Some(remote) => {
                let (url, issues) = (remote.url(), format!("{}/issues", remote.url()));
                let values = [remote.organization.clone(), remote.project.clone(), url, issues];
                NOBODY.into_iter().zip(values).map(|([option, _], value)| [option.to_owned(), value]).collect()
            }
        };
        let line = |words: &[String]| match self.ci {
            Ci::Github => words.join(" "),
            Ci::Gitlab => reproduce::line(words.iter().map(String::as_str)),
        };
        let who = who.chunks(2).map(|options| line(&options.concat()));
        who.chain(self.options.iter().map(|words| line(words))).collect()
    }
}

/// A text that YAML takes for nothing but a text, on one line.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Each line with a place as often as there are values for it. A value's own text is not looked at again.
fn filled(template: &str, values: &[(&str, Vec<String>)]) -> String {
    let mut lines = Vec::new();
    for line in template.lines() {
        match values.iter().find(|(place, _)| line.contains(place)) {
            Some((place, values)) => lines.extend(values.iter().map(|value| line.replacen(place, value, 1))),
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
#[path = "workflow_tests.rs"]
mod tests;
