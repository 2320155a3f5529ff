//! Every expectation of a scenario by name, and the scenario with exactly one of them negated.

mod asserted;
pub mod id;
mod negate;
mod walk;

use super::model::{Basis, Bounds, Clause, ExpectationId, Level, Scenario, Verb};

pub use asserted::{Asserted, Holder, asserted};
pub use id::Requested;
pub use walk::{Aspect, NotedPart, SeenPart};

/// One asserted value of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// Its name.
    pub id: ExpectationId,
    /// How binding it is.
    pub level: Level,
    /// What it proves.
    pub clauses: Vec<Clause>,
    /// Whether it belongs to one of several legal ends of a write, so that the scenario can pass without it.
    pub alternative: bool,
    /// Whether it is asked only if a write comes to one of several legal ends.
    pub conditional: bool,
    /// Whether it holds as long as no controller has spoken.
    pub untouched: bool,
    /// Where it has a meaning: all of these must admit the target.
    pub bounds: Vec<Bounds>,
    /// The line of the manifest.
    pub line: usize,
}

impl Expectation {
    /// Whether a target that is judged by this is held to it.
    pub fn binds(&self, basis: Basis) -> bool {
        self.bounds.iter().all(|bounds| bounds.admits(basis))
    }
}

/// Every asserted value of a scenario, in the order of the manifest.
pub fn enumerate(scenario: &Scenario) -> Vec<Expectation> {
    let mut all = Vec::new();
    walk::visit(&mut scenario.clone(), &mut |expectation, _| all.push(expectation));
    all
}

/// The scenario with this one asserted value negated and made binding; `None` if there is no such expectation, or if
/// its opposite cannot be said in a manifest (see `negate`).
pub fn invert(scenario: &Scenario, wanted: &ExpectationId) -> Option<Scenario> {
    let mut inverted = scenario.clone();
    let backends = inverted.backends.iter().map(|b| b.name.clone()).collect::<Vec<_>>();
    let mut done = false;
    walk::visit(&mut inverted, &mut |expectation, site| {
        if !done && expectation.id == *wanted {
            done = negate::negate(site, &backends);
        }
    });
    // What comes about at some moment has for its opposite what never does. Many a state on the way there is none of both, so the opposite
    // has to stand still.
    inverted.steps.iter_mut().for_each(|step| {
        if let Verb::Settle(settle) = &mut step.verb
            && wanted.strip_prefix(&*id::settle(step.index, None)).is_some_and(|rest| rest.starts_with('.'))
        {
            settle.at_once = false;
        }
    });
    done.then_some(inverted)
}

/// Whether a finding of a scenario in which this value is negated is about the negated value.
pub fn is_opposite_of(negated: &Expectation, finding: &str) -> bool {
    let id = negated.id.as_str();
    let below = |stem: &str| finding.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if let Some((step, rest)) = id.split_once("].hold.never.") {
        // What must never be is not so either if the object has no such entry, or an outdated one.
        let subject = rest.rsplit_once('.').map_or(rest, |(subject, _)| subject);
        return ["never", "always"].iter().any(|list| below(&format!("{step}].hold.{list}.{subject}")));
    }
    if let Some(stem) = id.strip_suffix(".absent").or_else(|| id.strip_suffix(".present")) {
        return [".absent", ".present"].iter().any(|aspect| finding.strip_prefix(stem) == Some(aspect));
    }
    if let Some(stem) = id.strip_suffix(".status").filter(|_| negated.untouched) {
        // What nobody has touched is seen to be outdated before its status is looked at.
        return finding == id || finding.strip_prefix(stem) == Some(".observedGeneration");
    }
    // The opposite of nobody is anybody, and that of one backend is another.
    match id.split_once("].probe") {
        Some((_, "")) => below(id),
        Some((step, part)) if part.starts_with(".mirrored.") => below(&format!("{step}].probe.mirrored")),
        _ => finding == id,
    }
}

#[cfg(test)]
mod tests;
