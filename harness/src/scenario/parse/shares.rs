//! The shares that a probe counts.

use super::super::grpc::GrpcCode;
use super::super::model::Share;
use super::check::Checker;
use super::names::Names;
use super::over::Over;
use super::tree::{Kind, Mark, Node};

/// Percentage points below which a deviation from a share is not looked for, unless a manifest says so.
const MARGIN: f64 = 10.0;

/// How many points a share may be off.
pub(super) fn margin(node: &Node) -> f64 {
    match node.get("margin").map(|m| &m.kind) {
        Some(Kind::Number(number)) => number.as_f64().unwrap_or(MARGIN),
        _ => MARGIN,
    }
}

/// The shares of the requests that each backend, or answer, is to have.
pub(super) fn shares(node: &Node, over: Over, names: &Names, checker: &mut Checker<'_>) -> Vec<(Share, u32)> {
    let mut parts = Vec::new();
    for (key, value) in node.entries() {
        let Kind::Number(number) = &value.kind else { continue };
        let weight = number.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        if let Some(share) = share(&key.name, key.mark, over, names, checker) {
            parts.push((share, weight));
        }
    }
    if !parts.iter().any(|(_, weight)| *weight > 0) {
        checker.report(node.mark, "somebody must have a share".to_owned(), None);
    }
    let alone = match parts[..] {
        [(Share::Refused, _)] => Some("refused"),
        [(Share::NoAnswer, _)] => Some("noAnswer"),
        _ => None,
    };
    if let Some(word) = alone {
        let help = Some(format!("write `expect: {word}`"));
        checker.report(node.mark, format!("nobody else has a share beside `{word}`"), help);
    }
    let mut counted: Vec<&str> = parts.iter().flat_map(|(share, _)| share.backends()).collect();
    counted.sort_unstable();
    if let Some(pair) = counted.windows(2).find(|pair| pair[0] == pair[1]) {
        checker.report(node.mark, format!("`{}` has two shares", pair[0]), Some("name it once".to_owned()));
    }
    parts
}

/// The shares of the requests that are copied, and are not.
pub(super) fn copies(node: &Node, names: &Names, checker: &mut Checker<'_>) -> Option<Vec<(Share, u32)>> {
    let [(key, value)] = node.entries() else {
        checker.report(node.mark, "copies are counted for one backend".to_owned(), None);
        return None;
    };
    let Kind::Number(number) = &value.kind else { return None };
    let percent = number.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|percent| *percent <= 100)?;
    let parts = vec![(Share::Copied(key.name.clone()), percent), (Share::NotCopied, 100 - percent)];
    names.backend(&key.name, key.mark, checker).then_some(parts)
}

fn share(name: &str, mark: Mark, over: Over, names: &Names, checker: &mut Checker<'_>) -> Option<Share> {
    if matches!(over, Over::Tcp | Over::Tls) && name == "refused" {
        return Some(Share::Refused);
    }
    if over == Over::Udp && name == "noAnswer" {
        return Some(Share::NoAnswer);
    }
    let code = |one: &str| match GrpcCode::named(one).filter(|_| over == Over::Grpc) {
        Some(code) => Some(Share::Code(code)),
        None => one.parse::<u16>().ok().map(Share::Status),
    };
    let backends: Vec<&str> = name.split('|').collect();
    if let Some(mut codes) = backends.iter().map(|one| code(one)).collect::<Option<Vec<Share>>>() {
        return if codes.len() > 1 { Some(Share::Either(codes)) } else { codes.pop() };
    }
    if !backends.iter().all(|one| names.backend(one, mark, checker)) {
        return None;
    }
    Some(match backends[..] {
        [one] => Share::Backend(one.to_owned()),
        _ => Share::AnyOf(backends.into_iter().map(str::to_owned).collect()),
    })
}
