//! The binary as a process, as people run it.
#![allow(clippy::unwrap_used, dead_code, missing_docs)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The binary, cut off from the user's own clusters and terminal.
pub fn gateproof(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command.current_dir(dir).env_remove("KUBECONFIG").env("HOME", dir).env("NO_COLOR", "1");
    command
}

/// What a process said and came to.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Everything that was said, as one line, without the frames and breaks of diagnostics.
    pub fn said(&self) -> String {
        let frame = |c: char| !matches!(c, '│' | '|' | '·');
        let text: String = format!("{}\n{}", self.out, self.err).chars().filter(|c| frame(*c)).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// It ended so, and said all of this.
pub fn expect(ended: &Ended, code: i32, parts: &[&str]) {
    let said = ended.said();
    assert_eq!(ended.code, Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "no `{part}` in: {said}");
    }
    assert!(!said.contains("panicked") && !said.contains("Error {"), "{said}");
}

/// Runs the binary to its end.
pub fn run(dir: &Path, arguments: &[&str]) -> Ended {
    let output = gateproof(dir).args(arguments).output().unwrap();
    Ended {
        code: output.status.code(),
        signal: output.status.signal(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Sends a signal such as `INT`.
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Says outside of the capture of tests that a check was left out, for CI to count.
pub fn skipped(name: &str, why: &str) {
    // `eprintln!` would be captured.
    std::io::stderr().write_all(format!("skipped: {name}: {why}\n").as_bytes()).unwrap();
}

/// `gateproof testbed` as a process of its own.
pub struct TestbedProcess {
    child: Child,
    /// For the reports of runs against it; its kubeconfig is here too, unless it took another's place.
    pub dir: TempDir,
    pub kubeconfig: PathBuf,
    /// What `--dial` takes, if there is an implementation.
    pub dial: Option<String>,
    /// What it said of itself.
    pub served: Value,
}

impl TestbedProcess {
    pub fn start(arguments: &[&str]) -> TestbedProcess {
        let dir = tempfile::tempdir().unwrap();
        let kubeconfig = dir.path().join("testbed.kubeconfig");
        TestbedProcess::start_at(dir, kubeconfig, arguments)
    }

    /// A second one that writes the same kubeconfig.
    pub fn beside(&self, arguments: &[&str]) -> TestbedProcess {
        TestbedProcess::start_at(tempfile::tempdir().unwrap(), self.kubeconfig.clone(), arguments)
    }

    fn start_at(dir: TempDir, kubeconfig: PathBuf, arguments: &[&str]) -> TestbedProcess {
        let mut command = gateproof(dir.path());
        command.args(["testbed", "--format", "json", "--kubeconfig"]).arg(&kubeconfig).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let served: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("the testbed ended before it was ready: {error}: {:?}", child.wait()));
        let dial = served["dialRule"].as_str().map(str::to_owned);
        TestbedProcess { child, dir, kubeconfig, dial, served }
    }

    /// The text of the kubeconfig.
    pub fn credentials(&self) -> String {
        std::fs::read_to_string(&self.kubeconfig).unwrap()
    }

    /// Arguments for a run against it, with backends that its data plane reaches.
    pub fn arguments<'a>(&'a self, class: &'a str) -> Vec<&'a str> {
        let kubeconfig = self.kubeconfig.to_str().unwrap();
        let mut arguments = vec!["run", "--kubeconfig", kubeconfig, "--gateway-class", class];
        arguments.extend(["--backend-address", "127.0.0.1"]);
        if let Some(dial) = &self.dial {
            arguments.extend(["--dial", dial]);
        }
        arguments
    }

    /// Ends it as Ctrl-C does.
    pub fn interrupt(&mut self) -> ExitStatus {
        signal(&self.child, "INT");
        self.child.wait().unwrap()
    }
}

impl Drop for TestbedProcess {
    fn drop(&mut self) {
        // Of a process that has ended already there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
