//! Data planes that do not take up changes without a hitch.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use gateproof_proxy::Config;
use tokio::{sync::Notify, time::Instant};

use super::{Place, Variant};
use crate::runtime::seams::{ConfigSeam, Seams, Seen};

/// How long a reload takes.
const RELOADS: Duration = Duration::from_millis(30);

struct Reloads;

impl ConfigSeam for Reloads {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        config.hitch = RELOADS;
    }
}

/// How long after the statuses a data plane has what is configured, if it is slow.
const BEHIND: Duration = Duration::from_millis(300);

/// What is configured, and not yet in force.
struct Behind {
    again: Arc<Notify>,
    coming: VecDeque<(Instant, Config)>,
    in_force: Config,
}

impl ConfigSeam for Behind {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        if self.coming.back().map_or(&self.in_force, |(_, last)| last) != config {
            self.coming.push_back((Instant::now(), config.clone()));
            let again = Arc::clone(&self.again);
            tokio::spawn(async move {
                tokio::time::sleep(BEHIND).await;
                again.notify_one();
            });
        }
        while self.coming.front().is_some_and(|(since, _)| since.elapsed() >= BEHIND) {
            self.in_force = self.coming.pop_front().map(|(_, config)| config).unwrap_or_default();
        }
        config.clone_from(&self.in_force);
    }
}

fn behind(seams: &mut Seams) {
    let again = Arc::clone(&seams.again);
    seams.config.push(Box::new(Behind { again, coming: VecDeque::new(), in_force: Config::default() }));
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "takes-up-changes-late",
        summary: "Has every change in force 0.3 s after the statuses of routes say that it is accepted.",
        source: "GEP-1364: Accepted says that the configuration will be in force soon, not that it is.",
        place: Place::Runtime(behind),
    },
    Variant {
        name: "resets-connections-while-it-reloads",
        summary: "Resets new connections at every Gateway for 30 ms after each change of anything that it serves.",
        source: "Nothing in the specification promises that a change is taken up without a hitch: Programmed says that the \
             configuration is sent to the data plane and should be ready soon.",
        place: Place::Runtime(|seams| seams.config.push(Box::new(Reloads))),
    },
];
