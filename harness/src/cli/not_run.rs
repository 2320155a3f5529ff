//! Why a run did not come to a record.

use gateproof_apiserver::StartError;
use gateproof_testbed::TestbedError;

use super::Failure;
use super::options::connect_failure;
use crate::cluster::api::chain;
use crate::cluster::clean::Leftover;
use crate::cluster::discover::DiscoverError;
use crate::run::{Preflight, RunError};

/// Why a run did not come to a record, with the blame where it belongs.
pub(crate) fn run_failure(error: RunError) -> Failure {
    match error {
        RunError::Embedded(TestbedError::ApiServer(StartError::Definition(_))) => {
            Failure::usage(error, "the definitions given with --crds cannot be served; nothing was applied")
        }
        RunError::Connect(error) => connect_failure(&error),
        RunError::Discover(
            error @ (DiscoverError::ClassMissing { .. }
            | DiscoverError::ForeignClass { .. }
            | DiscoverError::Bundle { .. }),
        ) => Failure::usage(error, "nothing was applied"),
        RunError::Preflight(failed) => {
            let next = failed.preflight.failure().and_then(|check| check.next.clone()).unwrap_or_default();
            let message = format!("{}{}", preflight_text(&failed.preflight), left_behind(&failed.leftovers));
            let all_the_same = match failed.preflight.unknown {
                true => "",
                false => " --skip-preflight runs the scenarios all the same.",
            };
            Failure::environment(message, format!("{next}\nNothing was judged.{all_the_same}"))
        }
        RunError::Canary(failed) => {
            let next = failed.preflight.failure().and_then(|check| check.next.clone()).unwrap_or_default();
            Failure::usage(format!("{}{}", preflight_text(&failed.preflight), left_behind(&failed.leftovers)), next)
        }
        RunError::Shared { .. } => {
            Failure::usage(error, "name it ${name:alias}, which is unique to run and scenario; nothing was applied")
        }
        RunError::ClassSilent { .. } => Failure::environment(
            error,
            "start the controller, or name the features with --features; nothing was applied",
        ),
        RunError::Dial(_) | RunError::Shape { .. } | RunError::NoFeatures { .. } => {
            Failure::usage(error, "nothing was applied")
        }
        other => {
            Failure::environment(chain(&other), "nothing was judged; run again with GATEPROOF_LOG=debug to see more")
        }
    }
}

fn left_behind(left: &[Leftover]) -> String {
    left.iter().map(|left| format!("\nleft behind: {}: {}", left.object, left.diagnosis)).collect()
}

fn preflight_text(preflight: &Preflight) -> String {
    format!("the target cannot be tested\n{}", preflight.to_string().trim_end())
}
