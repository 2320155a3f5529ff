//! Sends the corpus to two API servers and compares their answers.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use gateproof_differential::compare::compare;
use gateproof_differential::corpus::Topic;
use gateproof_differential::server::Subject;
use gateproof_differential::{fixtures, golden, home, list, run};

/// Sends the same requests to two API servers and compares their answers.
///
/// The left one is the embedded server unless `--left` names another. Exit codes: 0 no unexplained difference, 1 there are
/// some, 2 usage or environment.
#[derive(Parser)]
#[command(name = "gateproof-differential")]
struct Arguments {
    /// The kubeconfig of the left server; the embedded one otherwise.
    #[arg(long, value_name = "FILE")]
    left: Option<PathBuf>,
    /// The kubeconfig of the right server; the golden files otherwise.
    #[arg(long, value_name = "FILE")]
    right: Option<PathBuf>,
    /// Write the right server's answers to this folder, as golden files.
    #[arg(long, value_name = "DIR", requires = "right")]
    record: Option<PathBuf>,
    /// Run only sequences whose `topic/name` contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The corpus.
    #[arg(long, value_name = "DIR", default_value_os_t = home().join("corpus"))]
    corpus: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match differ(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

async fn differ(arguments: Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    let mut topics = Topic::read_all(&arguments.corpus)?;
    if let Some(only) = &arguments.only {
        for topic in &mut topics {
            let name = topic.name.clone();
            topic.sequences.retain(|sequence| format!("{name}/{}", sequence.name).contains(only));
        }
        topics.retain(|topic| !topic.sequences.is_empty());
    }
    let left = match &arguments.left {
        Some(path) => Subject::of_kubeconfig(path).await?,
        None => Subject::embedded().await?,
    };
    let right = match &arguments.right {
        Some(path) => Some(Subject::of_kubeconfig(path).await?),
        None => None,
    };
    let definitions = fixtures::read(&arguments.corpus.join("fixtures"))?;
    fixtures::install(&left, &definitions).await?;
    let (left, right) = tokio::join!(run::run(&left, &topics), async {
        match &right {
            Some(right) => {
                fixtures::install(right, &definitions).await?;
                Ok(Some((run::run(right, &topics).await?, run::version(right).await?)))
            }
            None => Ok::<_, gateproof_differential::server::SubjectError>(None),
        }
    });
    let left = left?;
    let (right, version) = match right? {
        Some(live) => live,
        None => {
            let (mut recorded, version) =
                golden::read(&home().join("golden"), topics.iter().map(|topic| topic.name.as_str()))?;
            for (topic, sequences) in &mut recorded {
                sequences.retain(|name, _| left.get(topic).is_some_and(|left| left.contains_key(name)));
            }
            (recorded, version)
        }
    };
    if let Some(folder) = &arguments.record {
        golden::write(folder, &version, &right)?;
    }
    let entries = list::read(&home().join("differences.yaml"))?;
    let judged = list::judge(compare(&left, &right), &entries, arguments.only.is_none())?;
    for divergence in &judged.unexplained {
        println!("{divergence}");
    }
    for place in &judged.idle {
        println!("differences.yaml names a place where nothing differs: {place}");
    }
    let requests: usize = topics.iter().map(Topic::requests).sum();
    println!(
        "{requests} requests, against {version}: {} differences explained, {} unexplained, {} entries idle",
        judged.explained,
        judged.unexplained.len(),
        judged.idle.len()
    );
    Ok(judged.unexplained.is_empty() && judged.idle.is_empty())
}
