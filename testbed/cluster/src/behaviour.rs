//! How the embedded implementation behaves: faults and legal variants, as many at once as one likes.

use std::sync::Arc;

use gateproof_controllers::faults::tamper::Tamper;
use gateproof_controllers::faults::{self, Fault};
use gateproof_controllers::runtime::Seams;
use gateproof_controllers::settings::Settings;
use gateproof_controllers::variants::{self, Variant};
use gateproof_proxy::{Chain, Exchange};
use gateproof_runtime::behaviour::UnknownBehaviour;
use serde_json::Value;

/// What a name starts with that is a variant's.
const VARIANT: &str = "variant:";

/// How the embedded implementation behaves.
#[derive(Debug, Clone, Default)]
pub enum Behaviour {
    /// As the specification asks.
    #[default]
    Plain,
    /// With these faults and variants, each of which works on what the one before it made.
    Named(Vec<Part>),
    /// As the holder of the handle says, from one moment to the next.
    Tampered(Tamper),
}

/// A part of a behaviour.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// A misbehaviour.
    Fault(&'static Fault),
    /// What the specification leaves open, done otherwise.
    Variant(&'static Variant),
}

/// The names in `names`, and of each whether it is a variant's.
///
/// # Errors
/// A name that stands there twice.
pub(crate) fn each(names: Option<&str>) -> Result<Vec<(&str, bool)>, UnknownBehaviour> {
    let names: Vec<&str> = names.into_iter().flat_map(|names| names.split('+')).collect();
    if let Some((_, twice)) = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name)) {
        return Err(UnknownBehaviour::Twice((*twice).to_owned()));
    }
    let kind = |name: &'_ str| name.strip_prefix(VARIANT).is_some();
    Ok(names.into_iter().map(|name| (name.strip_prefix(VARIANT).unwrap_or(name), kind(name))).collect())
}

impl Behaviour {
    /// With what is named, such as `ignores-reference-grants+variant:adds-own-conditions`; plain without a name.
    ///
    /// # Errors
    /// The first name that means nothing.
    pub fn of(names: Option<&str>) -> Result<Behaviour, UnknownBehaviour> {
        let Some(names) = names else { return Ok(Behaviour::Plain) };
        let part = |(name, is_variant)| Part::of(name, is_variant);
        each(Some(names))?.into_iter().map(part).collect::<Result<_, _>>().map(Behaviour::Named)
    }

    fn parts(&self) -> &[Part] {
        match self {
            Behaviour::Named(parts) => parts,
            Behaviour::Plain | Behaviour::Tampered(_) => &[],
        }
    }

    fn faults(&self) -> impl Iterator<Item = &'static Fault> {
        self.parts().iter().filter_map(|part| match part {
            Part::Fault(fault) => Some(*fault),
            Part::Variant(_) => None,
        })
    }

    /// Changes the definitions that the API server is about to serve.
    pub(crate) fn reshape(&self, crds: &mut Vec<Value>) {
        self.faults().for_each(|fault| fault.reshape(crds));
    }

    /// What the operator of such an implementation has decided otherwise.
    pub(crate) fn settle(&self, settings: &mut Settings) {
        for part in self.parts() {
            if let Part::Variant(variant) = part {
                variant.settle(settings);
            }
        }
    }

    /// The seam of the data plane.
    pub(crate) fn exchange(&self) -> Arc<dyn Exchange> {
        match self {
            Behaviour::Tampered(tamper) => Arc::new(tamper.clone()),
            Behaviour::Plain | Behaviour::Named(_) => {
                let exchange = |part: &Part| match part {
                    Part::Fault(fault) => fault.exchange(),
                    Part::Variant(variant) => variant.exchange(),
                };
                Arc::new(Chain(self.parts().iter().filter_map(exchange).collect()))
            }
        }
    }

    /// The seams of the runtime.
    pub(crate) fn seams(&self) -> Seams {
        if let Behaviour::Tampered(tamper) = self {
            return tamper.seams();
        }
        let mut seams = Seams::default();
        for part in self.parts() {
            match part {
                Part::Fault(fault) => fault.enter(&mut seams),
                Part::Variant(variant) => variant.enter(&mut seams),
            }
        }
        seams
    }
}

impl Part {
    fn of(name: &str, is_variant: bool) -> Result<Part, UnknownBehaviour> {
        if is_variant {
            let found = variants::find(name).map(Part::Variant);
            return found.ok_or_else(|| UnknownBehaviour::Variant(name.to_owned()));
        }
        faults::find(name).map(Part::Fault).ok_or_else(|| UnknownBehaviour::Fault(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_taken_as_they_stand() {
        let behaviour = Behaviour::of(Some(
            "ignores-reference-grants+variant:adds-own-conditions+answers-404-for-missing-backends",
        ))
        .unwrap();
        let names = behaviour.parts().iter().map(|part| match part {
            Part::Fault(fault) => fault.name,
            Part::Variant(variant) => variant.name,
        });
        let expected = ["ignores-reference-grants", "adds-own-conditions", "answers-404-for-missing-backends"];
        assert_eq!(names.collect::<Vec<_>>(), expected);
        assert!(matches!(Behaviour::of(None), Ok(Behaviour::Plain)));
    }

    #[test]
    fn a_name_that_means_nothing_is_an_error() {
        let error = |names: &str| Behaviour::of(Some(names)).unwrap_err();
        assert_eq!(error("ignores-reference-grants+def"), UnknownBehaviour::Fault("def".to_owned()));
        assert_eq!(error("ignores-reference-grants+"), UnknownBehaviour::Fault(String::new()));
        assert_eq!(error("adds-own-conditions"), UnknownBehaviour::Fault("adds-own-conditions".to_owned()));
        assert_eq!(
            error("variant:ignores-reference-grants"),
            UnknownBehaviour::Variant("ignores-reference-grants".to_owned())
        );
        assert_eq!(
            error("ignores-reference-grants+ignores-reference-grants"),
            UnknownBehaviour::Twice("ignores-reference-grants".to_owned())
        );
    }
}
