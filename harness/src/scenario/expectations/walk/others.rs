//! What is expected of what stands beside the objects of a scenario: services, what a target makes, and what backends noted.

use super::super::super::model::{Carried, Gap, Level, MadeFor, Noted, Requests};
use super::super::id::{self, Requested};
use super::{About, NotedPart, SeenPart, Site, Visitor};

/// The requests that a service gets.
pub(super) fn requests(requests: &mut Requests, step: usize, about: &About, visitor: Visitor<'_>) {
    let about = about.at(requests.level);
    let gap = (requests.gap != Gap::default()).then_some(Requested::Gap);
    let bodies = (0..requests.body.len()).map(Requested::Body);
    for part in [Requested::Count].into_iter().chain(gap).chain(bodies) {
        let name = id::requests(step, requests, part);
        visitor(about.expectation(name), Site::Requests(requests, part));
    }
}

/// What a target made.
pub(super) fn made(made: &mut MadeFor, step: usize, about: &About, visitor: Visitor<'_>) {
    let about = about.at(made.level);
    let parts: Vec<Carried> = made.parts().map(|(part, _)| part).collect();
    for part in parts {
        visitor(about.expectation(id::made(step, &part)), Site::Made(made, part));
    }
}

/// What a backend noted, part by part.
pub(super) fn noted(backend: &str, noted: &Noted) -> Vec<(String, SeenPart, Level)> {
    let given = [
        ("times", noted.times.is_some(), NotedPart::Times),
        ("apart", noted.apart.is_some(), NotedPart::Apart),
        ("method", noted.method.is_some(), NotedPart::Method),
        ("path", noted.path.is_some(), NotedPart::Path),
        ("proto", noted.proto.is_some(), NotedPart::Proto),
        ("body", noted.body.is_some(), NotedPart::Body),
    ];
    let plain = given.into_iter().filter(|(_, given, _)| *given).map(|(name, _, part)| (name.to_owned(), part));
    let headers = noted.headers.keys().map(|name| (format!("headers.{name}"), NotedPart::Header(name.clone())));
    let part =
        |(name, part)| (format!("noted.{backend}.{name}"), SeenPart::Noted(backend.to_owned(), part), Level::Must);
    plain.chain(headers).map(part).collect()
}
