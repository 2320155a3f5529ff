//! What the datagrams of one flow came to.

use std::collections::BTreeSet;

use crate::log::{EchoText, Exchange, UdpEnd};

/// Whether no datagram came back.
pub(super) fn is_unanswered(exchange: &Exchange) -> bool {
    matches!(exchange.udp, Some(UdpEnd::Silent | UdpEnd::Refused))
}

/// Whether more than one answered the datagrams of one flow.
pub(super) fn is_by_several(exchange: &Exchange) -> bool {
    exchange.udp.as_ref().is_some_and(|end| answerers(end) > 1)
}

/// How many answered. From where a backend is spoken to is free, and may be another place for each datagram.
fn answerers(end: &UdpEnd) -> usize {
    let UdpEnd::Answered { lines, echo } = end else { return 0 };
    let who = |echo: &EchoText| {
        let mut account = echo.parse();
        if let Some(fields) = account.as_object_mut() {
            fields.remove("peer");
        }
        account.to_string()
    };
    lines.len() + echo.iter().map(who).collect::<BTreeSet<_>>().len()
}

/// The end in words; `from` says whom answers are from.
pub(super) fn in_words(end: &UdpEnd, from: &str) -> String {
    match end {
        UdpEnd::Answered { .. } if answerers(end) > 1 => format!("datagrams {from}, and from others"),
        UdpEnd::Answered { .. } => format!("datagrams {from}"),
        UdpEnd::TooFew { answered: 0 } => {
            "of what comes back for datagrams without a byte, a line and one like it, a part is missing".to_owned()
        }
        UdpEnd::TooFew { answered: 1 } => "a single datagram came back for several".to_owned(),
        UdpEnd::TooFew { answered } => format!("no more than {answered} datagrams came back"),
        UdpEnd::Silent => "no datagram came back".to_owned(),
        UdpEnd::Refused => "nobody listens at the port, says the address".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::one(&[("a", "10.0.0.1:1")], 1)]
    #[case::one_by_two_ways(&[("a", "10.0.0.1:1"), ("a", "10.0.0.1:2")], 1)]
    #[case::two(&[("a", "10.0.0.1:1"), ("b", "10.0.0.1:1")], 2)]
    fn who_answers_is_told_by_its_name(#[case] from: &[(&str, &str)], #[case] expected: usize) {
        let account = |(pod, peer): &(&str, &str)| {
            EchoText::read(format!("{{\"pod\":\"{pod}\",\"namespace\":\"ns\",\"peer\":\"{peer}\"}}\n").as_bytes())
        };
        let echo: Vec<_> = from.iter().filter_map(account).collect();
        assert_eq!(echo.len(), from.len());
        assert_eq!(answerers(&UdpEnd::Answered { lines: Vec::new(), echo }), expected);
    }
}
