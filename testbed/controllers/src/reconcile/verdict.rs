use crate::status::{Condition, Truth};

/// The answer to one question that a condition asks, before it is known under which type it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) status: Truth,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Verdict {
    pub(crate) fn yes(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: Truth::True, reason, message: message.into() }
    }

    pub(crate) fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: Truth::False, reason, message: message.into() }
    }

    pub(crate) fn unknown(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: Truth::Unknown, reason, message: message.into() }
    }

    pub(crate) fn is_true(&self) -> bool {
        self.status == Truth::True
    }

    pub(crate) fn is_false(&self) -> bool {
        self.status == Truth::False
    }

    pub(crate) fn condition(&self, r#type: &str) -> Condition {
        Condition::new(r#type, self.status, self.reason, &self.message)
    }
}

/// A reference that cannot be followed: the reason for `ResolvedRefs=False`, and what is wrong with which reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// How many problems a message names: that of a condition has room for 32768 characters, and a route for more problems.
const NAMED: usize = 16;

/// `ResolvedRefs` for these problems: the first one gives the reason, the message names as many as it has room for.
pub(crate) fn resolved_refs(problems: &[Problem]) -> Verdict {
    match problems {
        [] => Verdict::yes("ResolvedRefs", "All references resolve"),
        [first, ..] => {
            let mut messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            messages.dedup();
            let more = messages.len().saturating_sub(NAMED);
            messages.truncate(NAMED);
            let named = messages.join("; ");
            Verdict::no(first.reason, if more == 0 { named } else { format!("{named}; and {more} more") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_room_for_the_problems_that_it_names() {
        let problems =
            |many: usize| (0..many).map(|at| Problem::new("BackendNotFound", format!("{at}{}", "x".repeat(600))));
        let of = |many: usize| resolved_refs(&problems(many).collect::<Vec<_>>()).message;
        assert!(of(NAMED).contains("15x") && !of(NAMED).contains("more"));
        assert!(of(256).ends_with("; and 240 more") && of(256).chars().count() <= 32768);
    }
}
