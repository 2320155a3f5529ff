//! What an answer says by itself.

use super::Check;
use crate::log::HttpAnswer;
use crate::scenario::Seen;

impl Check<'_> {
    /// Looks at the body of an answer that no backend gave.
    pub(super) fn says(&mut self, expected: &Seen, answer: &HttpAnswer) {
        let Some(wanted) = &expected.body else { return };
        let seen = answer.body.trim();
        if answer.echo.is_some() {
            self.miss(".body", self.level, format!("the body {wanted:?}"), "a backend answered".to_owned());
        } else if seen != wanted {
            self.miss(".body", self.level, format!("the body {wanted:?}"), format!("{seen:?}"));
        }
    }
}
