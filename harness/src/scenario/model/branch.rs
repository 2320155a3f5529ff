//! Steps that are done after one of several legal ends of a write. They stand in `steps` behind their write, in the order of the
//! manifest, and are numbered with the others.

use super::{Bounds, Channel, Ending, Scenario, Step};

/// A legal end of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Branch {
    /// The step that writes.
    pub step: usize,
    /// Which of its ends, from 0.
    pub ending: usize,
}

impl Bounds {
    /// Where both have a meaning.
    pub fn and(self, other: Bounds) -> Bounds {
        let channels = [self.channel, other.channel];
        Bounds {
            since: self.since.max(other.since),
            until: [self.until, other.until].into_iter().flatten().min(),
            channel: channels.contains(&Some(Channel::Experimental)).then_some(Channel::Experimental).or(self.channel),
            elsewhere: self.elsewhere || other.elsewhere,
        }
    }
}

impl Ending {
    /// Where it is legal.
    pub fn bounds(&self) -> Bounds {
        match self {
            Ending::Refused(_, bounds) | Ending::Settle(_, bounds) => *bounds,
            Ending::Admitted => Bounds::default(),
        }
    }
}

impl Scenario {
    /// The ends that writes have to come to for a step to be done, the last write first.
    pub fn branches(&self, step: &Step) -> Vec<Branch> {
        let mut found = Vec::new();
        let mut next = step.within;
        while let Some(branch) = next {
            found.push(branch);
            // Only what stands before it, so that there is an end.
            let write = self.steps.iter().find(|before| before.index == branch.step && before.index < step.index);
            next = write.and_then(|write| write.within).filter(|outer| outer.step < branch.step);
        }
        found
    }

    /// Whether one step is done wherever another is, as far as ends of writes decide.
    pub fn goes_with(&self, one: &Step, other: &Step) -> bool {
        let branches = self.branches(other);
        self.branches(one).iter().all(|branch| branches.contains(branch))
    }

    /// Whether a step is done only if a write comes to one of several ends.
    pub fn is_conditional(&self, step: &Step) -> bool {
        let has_others = |step: usize| self.steps.iter().any(|write| write.index == step && write.either.len() > 1);
        self.branches(step).iter().any(|branch| has_others(branch.step))
    }

    /// Whether the end that a write comes to decides what is done.
    pub fn turns_at(&self, step: &Step) -> bool {
        self.steps.iter().any(|later| later.within.is_some_and(|branch| branch.step == step.index))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::super::super::{Vocabulary, parse};
    use super::*;

    const MANIFEST: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  backends: [echo]
  steps:
    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}, spec: {parentRefs: [{name: gw}]}}]
      since: "1.2"
      either:
        - refused: {}
          channel: experimental
          then:
            - probe: {get: "http://${host}/", expect: noAnswer}
        - settle: {HTTPRoute/route: {Accepted: "True"}}
          until: "1.6"
          then:
            - apply: [{apiVersion: v1, kind: Secret, metadata: {name: inner}}]
              either:
                - refused: {}
                - settle: {HTTPRoute/route: {Accepted: "False"}}
                  then:
                    - probe: {get: "http://${host}/", expect: {status: 500}}
            - probe: {get: "http://${host}/", expect: {backend: echo}}
              since: "1.4"
    - probe: {get: "http://${host:other}/", expect: {backend: echo}}
"#;

    fn sample() -> Scenario {
        parse("a.yaml", MANIFEST, &Vocabulary::builtin()).unwrap().remove(0)
    }

    #[test]
    fn steps_of_ends_are_numbered_with_the_others() {
        let scenario = sample();
        let told: Vec<(usize, Vec<(usize, usize)>)> = scenario
            .steps
            .iter()
            .map(|step| {
                let branches = scenario.branches(step).into_iter().map(|one| (one.step, one.ending));
                (step.index, branches.collect())
            })
            .collect();
        let expected = [
            (0, vec![]),
            (1, vec![(0, 0)]),
            (2, vec![(0, 1)]),
            (3, vec![(2, 1), (0, 1)]),
            (4, vec![(0, 1)]),
            (5, vec![]),
        ];
        assert_eq!(told, expected);
        assert_eq!(scenario.steps[0].either.len(), 2);
        let conditional: Vec<bool> = scenario.steps.iter().map(|step| scenario.is_conditional(step)).collect();
        assert_eq!(conditional, [false, true, true, true, true, false]);
        let turns: Vec<bool> = scenario.steps.iter().map(|step| scenario.turns_at(step)).collect();
        assert_eq!(turns, [true, false, true, false, false, false]);
    }

    #[rstest]
    #[case::everywhere(0, 3, true)]
    #[case::the_same_end(4, 3, true)]
    #[case::not_the_other_way(3, 4, false)]
    #[case::another_end(1, 4, false)]
    #[case::behind_the_ends(4, 5, false)]
    fn what_goes_with_what(#[case] one: usize, #[case] other: usize, #[case] goes: bool) {
        let scenario = sample();
        assert_eq!(scenario.goes_with(&scenario.steps[one], &scenario.steps[other]), goes);
    }

    #[test]
    fn a_step_is_bound_by_its_end_and_the_write() {
        let scenario = sample();
        let bounds = |step: usize| {
            let Bounds { since, until, channel, .. } = scenario.steps[step].bounds;
            let words = |version: Option<super::super::Version>| version.map_or_else(String::new, |v| v.to_string());
            (words(since), words(until), channel)
        };
        let (none, experimental) = (String::new(), Some(Channel::Experimental));
        assert_eq!(bounds(1), ("v1.2.0".to_owned(), none.clone(), experimental));
        assert_eq!(bounds(3), ("v1.2.0".to_owned(), "v1.6.0".to_owned(), None));
        assert_eq!(bounds(4), ("v1.4.0".to_owned(), "v1.6.0".to_owned(), None));
        assert_eq!(bounds(5), (none.clone(), none, None));
    }

    #[rstest]
    #[case::another_end("HTTPRoute/route: {Accepted: \"False\"}", "Secret/inner: {}", 1)]
    #[case::behind_the_ends("http://${host:other}/", "http://${host:other}/", 0)]
    fn what_an_end_alone_has_is_known_to_it_alone(#[case] from: &str, #[case] to: &str, #[case] problems: usize) {
        let text = MANIFEST.replacen(from, to, 1);
        assert_eq!(parse("a.yaml", &text, &Vocabulary::builtin()).err().unwrap_or_default().len(), problems);
    }

    #[test]
    fn what_was_refused_is_not_there_to_be_asked_about() {
        let hold = "hold: {never: {HTTPRoute/route: {Accepted: \"True\"}}}";
        let text = MANIFEST.replacen("probe: {get: \"http://${host}/\", expect: noAnswer}", hold, 1);
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).unwrap_err();
        assert!(found.iter().any(|one| one.message == "unknown object `HTTPRoute/route`"), "{found:?}");
    }
}
