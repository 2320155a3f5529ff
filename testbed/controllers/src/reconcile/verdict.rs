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

/// `ResolvedRefs` for these problems: the first one gives the reason, the message names them all.
pub(crate) fn resolved_refs(problems: &[Problem]) -> Verdict {
    match problems {
        [] => Verdict::yes("ResolvedRefs", "All references resolve"),
        [first, ..] => {
            let mut messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            messages.dedup();
            Verdict::no(first.reason, messages.join("; "))
        }
    }
}
