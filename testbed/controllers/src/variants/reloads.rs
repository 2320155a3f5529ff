//! Data planes that do not take up changes without a hitch.

use std::time::Duration;

use gateproof_proxy::Config;

use super::Variant;
use crate::runtime::seams::{ConfigSeam, Seen};

/// How long a reload takes.
const RELOADS: Duration = Duration::from_millis(30);

struct Reloads;

impl ConfigSeam for Reloads {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        config.hitch = RELOADS;
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "resets-connections-while-it-reloads",
    summary: "Resets new connections at every Gateway for 30 ms after each change of anything that it serves.",
    source: "Nothing in the specification promises that a change is taken up without a hitch: Programmed says that the \
             configuration is sent to the data plane and should be ready soon.",
    enter: |seams| seams.config.push(Box::new(Reloads)),
}];
