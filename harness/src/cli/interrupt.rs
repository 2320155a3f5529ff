//! Ctrl-C on the command line: once to clean up, twice to leave, with last words about what is left.

use gateproof_report::reproduce::line;

use super::Failure;
use super::output::tell;
use crate::cluster::connect::Source;
use crate::run::interrupt::Interrupt;
use crate::run::{RunOptions, TargetChoice};

/// Breaks the run off at Ctrl-C, so that it cleans up.
pub(crate) fn clean_up_on_ctrl_c(options: &RunOptions) -> Result<(), Failure> {
    clean_up_all_on_ctrl_c(&[options])
}

/// The same for several runs, one after the other on the same target.
pub(crate) fn clean_up_all_on_ctrl_c(all: &[&RunOptions]) -> Result<(), Failure> {
    let Some(target) = all.first().map(|options| options.target.clone()) else { return Ok(()) };
    break_off_on_ctrl_c(target, all.iter().map(|options| options.interrupt.clone()).collect())
}

/// The same of whatever these break off on a target.
pub(crate) fn break_off_on_ctrl_c(target: TargetChoice, interrupts: Vec<Interrupt>) -> Result<(), Failure> {
    let handled = Interrupt::all_on_ctrl_c(interrupts, move |left| tell!("{}", last_words(&target, left)));
    handled.map_err(|error| Failure::environment(format!("cannot handle Ctrl-C: {error}"), "nothing was applied"))
}

/// What a process says that leaves at once, given the run that has objects in the cluster.
fn last_words(target: &TargetChoice, left: Option<&str>) -> String {
    match (target, left) {
        (TargetChoice::Cluster { source, .. }, Some(run_id)) => {
            let (kubeconfig, context) = match source {
                Source::File { path, context } => (path.to_str(), context.as_deref()),
                Source::Usual { context } => (None, context.as_deref()),
                _ => (None, None),
            };
            let mut words = vec!["gateproof", "clean", "--run", run_id];
            words.extend(kubeconfig.into_iter().flat_map(|path| ["--kubeconfig", path]));
            words.extend(context.into_iter().flat_map(|name| ["--context", name]));
            format!("left without cleaning up; `{}` removes what is left", line(words))
        }
        (TargetChoice::Cluster { .. }, None) => "left at once; nothing of the run is in the cluster".to_owned(),
        _ => "left at once; the embedded target is gone with everything in it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::dialects::Reference;

    fn cluster(source: Source) -> TargetChoice {
        TargetChoice::Cluster { source, gateway_class: Some("mine".to_owned()), name: "context kind".to_owned() }
    }

    #[rstest]
    #[case::embedded(
        TargetChoice::embedded(Reference::GatewayApi, None),
        Some("3f9a2c"),
        "the embedded target is gone with everything in it"
    )]
    #[case::nothing(cluster(Source::Usual { context: None }), None, "nothing of the run is in the cluster")]
    #[case::usual(cluster(Source::Usual { context: Some("my kind".to_owned()) }), Some("3f9a2c"), "`gateproof clean --run 3f9a2c --context 'my kind'`")]
    #[case::file(
        cluster(Source::File { path: "k".into(), context: None }), Some("3f9a2c"), "`gateproof clean --run 3f9a2c --kubeconfig k`")]
    fn the_last_words_are_about_what_is_there(
        #[case] target: TargetChoice,
        #[case] left: Option<&str>,
        #[case] part: &str,
    ) {
        let said = last_words(&target, left);
        assert!(said.contains(part) && said.contains("clean") == part.contains("clean"), "{said}");
    }
}
