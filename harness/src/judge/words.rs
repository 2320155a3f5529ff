//! Values in words, for findings.

use std::time::Duration;

/// `a, b or c`.
pub(super) fn any_of<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    match items.split_last() {
        None => "anything".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// A time, such as `1.500 s`.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}
