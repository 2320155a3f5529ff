//! What is expected of what stands beside the objects of a scenario: services, and what a target makes.

use super::super::super::model::{Carried, Gap, MadeFor, Requests};
use super::super::id::{self, Requested};
use super::{About, Site, Visitor};

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
