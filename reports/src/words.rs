//! Numbers in sentences. Pure.

use std::fmt::Display;

/// `1 scenario`, or `2 scenarios`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, several: &str) -> String {
    let noun = if count == N::from(1) { one } else { several };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        let of = |count| counted(count, "breach", "breaches");
        assert_eq!([of(0), of(1), of(2), of(11)], ["0 breaches", "1 breach", "2 breaches", "11 breaches"]);
    }
}
