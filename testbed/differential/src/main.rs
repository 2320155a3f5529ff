//! Sends the corpus to two API servers and compares their answers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use gateproof_differential::compare::compare;
use gateproof_differential::corpus::Topic;
use gateproof_differential::server::Subject;
use gateproof_differential::{Setting, bundles, fixtures, generate, golden, home, list, run};

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
    /// Send this many random sequences, in the place of the corpus; what diverges is printed with as few requests as do.
    #[arg(long, value_name = "N", requires = "right")]
    cases: Option<u64>,
    /// The seed of the random sequences.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Hold both servers against the official bundles below this folder, in the place of the corpus.
    #[arg(long, value_name = "DIR", requires = "right", conflicts_with = "cases")]
    bundles: Option<PathBuf>,
    /// Both servers have addresses of both families for Services: send the corpus that is about this.
    #[arg(long, conflicts_with = "bundles")]
    dual_stack: bool,
    /// The corpus; the one in the source tree otherwise.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
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
    let setting = if arguments.dual_stack { Setting::DualStack } else { Setting::SingleStack };
    let mut topics = Topic::read_all(&arguments.corpus.clone().unwrap_or_else(|| setting.corpus()))?;
    if let Some(only) = &arguments.only {
        for topic in &mut topics {
            let name = topic.name.clone();
            topic.sequences.retain(|sequence| format!("{name}/{}", sequence.name).contains(only));
        }
        topics.retain(|topic| !topic.sequences.is_empty());
    }
    let left = match &arguments.left {
        Some(path) => Subject::of_kubeconfig(path).await?,
        None => Subject::embedded(setting).await?,
    };
    let right = match &arguments.right {
        Some(path) => Some(Subject::of_kubeconfig(path).await?),
        None => None,
    };
    if let (Some(folder), Some(right)) = (&arguments.bundles, &right) {
        return hold_bundles(&left, right, folder).await;
    }
    let definitions = fixtures::read(&home().join("corpus/fixtures"))?;
    fixtures::install(&left, &definitions).await?;
    if let (Some(cases), Some(right)) = (arguments.cases, &right) {
        fixtures::install(right, &definitions).await?;
        let known = list::read(&home().join("differences.yaml"))?;
        let search = generate::Search { left: &left, right, known: &known };
        let searched = search.run(arguments.seed, cases).await?;
        for finding in &searched.found {
            println!("case {} of seed {}:", finding.case, arguments.seed);
            for step in &finding.sequence.steps {
                println!("  {} {} {}", step.request, step.media, step.body.clone().unwrap_or_default());
            }
            finding.divergences.iter().for_each(|divergence| println!("{divergence}"));
        }
        for (case, error) in &searched.unanswered {
            println!("case {case} of seed {} shows nothing: {error}", arguments.seed);
        }
        let (diverge, silent) = (searched.found.len(), searched.unanswered.len());
        println!("{cases} cases of seed {}, {diverge} diverge, {silent} unanswered", arguments.seed);
        return Ok(searched.found.is_empty());
    }
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
                golden::read(&setting.golden(), topics.iter().map(|topic| topic.name.as_str()))?;
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
    let whole: Vec<&str> = match arguments.only {
        Some(_) => Vec::new(),
        None => topics.iter().map(|topic| topic.name.as_str()).collect(),
    };
    let judged = list::judge(compare(&left, &right), &entries, &whole)?;
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

async fn hold_bundles(left: &Subject, right: &Subject, folder: &Path) -> Result<bool, Box<dyn std::error::Error>> {
    let mut paths = Vec::new();
    for release in std::fs::read_dir(folder)? {
        for channel in std::fs::read_dir(release?.path())? {
            paths.push(channel?.path());
        }
    }
    paths.sort();
    let known = list::read(&home().join("differences.yaml"))?;
    let mut good = !paths.is_empty();
    for path in paths {
        let definitions = bundles::definitions(&path)?;
        let (on_left, on_right) =
            (bundles::codes(left, &definitions).await?, bundles::codes(right, &definitions).await?);
        let (objects, found) = bundles::hold(left, right, &definitions).await?;
        let judged = list::judge(found, &known, &[])?;
        let divergences = judged.unexplained;
        divergences.iter().for_each(|divergence| println!("{divergence}"));
        let alike = if on_left == on_right { "taken alike" } else { "taken otherwise" };
        println!(
            "{}: {} definitions, {alike}; {objects} objects, {} differences explained, {} unexplained",
            path.display(),
            definitions.len(),
            judged.explained,
            divergences.len()
        );
        good &= divergences.is_empty() && on_left == on_right;
    }
    Ok(good)
}
