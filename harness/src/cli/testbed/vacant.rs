//! The testbed of several dialects: their definitions on one API server, on which nobody reconciles.

use gateproof_apiserver::crds::{Channel, gateway_api};
use gateproof_testbed::TestbedOptions;
use serde_json::Value;

use super::{Args, Plan, crds};
use crate::cli::Failure;
use crate::dialects::Reference;
use crate::run::embedded;
use crate::suite::Suite;

impl Args {
    /// What is to be started of several dialects.
    pub(super) fn several(&self) -> Result<Plan, Failure> {
        let each = self.dialect.each()?;
        let suites: Vec<&Suite> = each.iter().map(|(_, suite)| suite).collect();
        if !self.no_controller {
            let help = "start a testbed for each, with a --kubeconfig of its own; --no-controller serves the definitions of all of them on one, for \
                        controllers of yours";
            let problem = "the references of several dialects have an API server each";
            return Err(Failure::usage(problem, help));
        }
        if self.crds.is_some() {
            let help =
                "leave it out: each of them brings its own, and a dialect from a folder has them in its crds.yaml";
            return Err(Failure::usage("--crds is about one dialect, and these are several", help));
        }
        self.vacant(&suites)
    }

    /// The definitions of dialects, on an API server on which nobody reconciles.
    pub(super) fn vacant(&self, suites: &[&Suite]) -> Result<Plan, Failure> {
        let crds = definitions(suites)?;
        let without = crds::left_out(&self.without_crd, &crds)?;
        let options = TestbedOptions { crds, without, ..self.cluster() };
        let with_azure = suites.iter().any(|suite| suite.reference() == Some(Reference::Aso));
        Ok(Plan::Vacant { options: Box::new(options), with_azure })
    }
}

/// The definitions of all of them.
///
/// # Errors
/// If one has none, or two do not agree on what a kind is.
fn definitions(suites: &[&Suite]) -> Result<Vec<Value>, Failure> {
    let mut all: Vec<Value> = Vec::new();
    for suite in suites {
        let name = suite.dialect.name();
        let own = match suite.reference() {
            Some(Reference::GatewayApi) => gateway_api(Channel::default()),
            Some(reference) => {
                let mut own = embedded::definitions(reference, suite.vocabulary.edition.name());
                if reference == Reference::Kuadrant {
                    // Policies are about its kinds.
                    own.extend(gateway_api(Channel::default()));
                }
                own
            }
            None => suite.definitions.clone(),
        };
        if own.is_empty() {
            let problem = format!("nothing says what the kinds of `{name}` are");
            return Err(Failure::usage(problem, "put their definitions into crds.yaml of the dialect"));
        }
        for definition in own {
            let defined = &definition["metadata"]["name"];
            match all.iter().find(|known| known["metadata"]["name"] == *defined) {
                None => all.push(definition),
                Some(known) if *known == definition => {}
                Some(_) => {
                    let defined = defined.as_str().unwrap_or_default();
                    let problem = format!("{defined} is another in the dialect `{name}` than in one before it");
                    return Err(Failure::usage(problem, "start a testbed for each, with a --kubeconfig of its own"));
                }
            }
        }
    }
    Ok(all)
}
