//! Data planes that come up only some time after their Gateway was taken up, as where each gets machines of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gateproof_proxy::Config;
use tokio::{sync::Notify, time::Instant};

use super::{Place, Variant};
use crate::{
    runtime::seams::{ConfigSeam, Seams, Seen, StatusesSeam},
    snapshot::{Kind, ObjectKey},
    status::{Condition, DesiredStatus, StatusUpdate, Truth},
};

/// How long after it was first seen a Gateway has its data plane: long beside what everything else takes, and within what
/// a Gateway is given.
pub const DELAY: Duration = Duration::from_secs(2);

/// The Gateways that wait for their data plane.
struct Waiting {
    /// When each was first seen, by UID.
    since: BTreeMap<String, Instant>,
    /// Those that wait as of this round.
    now: BTreeSet<ObjectKey>,
    again: Arc<Notify>,
}

impl Waiting {
    /// Settles who waits in this round, and sees to another one when a wait is over.
    fn round(&mut self, seen: Seen<'_>) {
        self.since.retain(|uid, _| seen.snapshot.all(Kind::Gateway).any(|gateway| gateway.meta.uid == *uid));
        self.now.clear();
        for gateway in seen.snapshot.all(Kind::Gateway) {
            let since = *self.since.entry(gateway.meta.uid.clone()).or_insert_with(|| {
                let again = Arc::clone(&self.again);
                tokio::spawn(async move {
                    tokio::time::sleep(DELAY).await;
                    again.notify_one();
                });
                Instant::now()
            });
            if since.elapsed() < DELAY {
                self.now.insert(gateway.key());
            }
        }
    }
}

type Shared = Arc<Mutex<Waiting>>;

fn lock(waiting: &Shared) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing is bound at the addresses of those that wait, so connections are refused.
struct NotServed(Shared);

impl ConfigSeam for NotServed {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let mut waiting = lock(&self.0);
        waiting.round(seen);
        let gateways = seen.snapshot.all(Kind::Gateway).filter(|gateway| waiting.now.contains(&gateway.key()));
        let addresses: BTreeSet<IpAddr> =
            gateways.flat_map(|gateway| seen.snapshot.addresses.of(&gateway.meta.uid)).map(IpAddr::V4).collect();
        config.listeners.retain(|listener| !addresses.contains(&listener.address));
    }
}

/// Listeners say that they are programmed, since their configuration is on its way; the Gateway says that it is not.
struct NotYet {
    waiting: Shared,
    reason: &'static str,
    shows_addresses: bool,
}

impl StatusesSeam for NotYet {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        let waiting = lock(&self.waiting);
        for update in statuses.iter_mut().filter(|update| waiting.now.contains(&update.key)) {
            let DesiredStatus::Gateway { conditions, addresses, listeners, .. } = &mut update.status else { continue };
            for listener in listeners {
                for condition in waits_for_data_plane(&mut listener.conditions) {
                    condition.status = Truth::True;
                    condition.reason = "Programmed".into();
                    condition.message = "The configuration is on its way to the data plane".into();
                }
            }
            for condition in waits_for_data_plane(conditions) {
                condition.status = Truth::False;
                condition.reason = self.reason.into();
                condition.message = "The data plane of the Gateway is still being set up".into();
                if !self.shows_addresses {
                    addresses.clear();
                }
            }
        }
    }
}

/// `Programmed` as it reads while the data plane has not said whether it took a listener.
fn waits_for_data_plane(conditions: &mut [Condition]) -> impl Iterator<Item = &mut Condition> {
    conditions.iter_mut().filter(|one| one.r#type == "Programmed" && one.status == Truth::Unknown)
}

fn late(seams: &mut Seams, reason: &'static str, shows_addresses: bool) {
    let again = Arc::clone(&seams.again);
    let waiting = Shared::new(Mutex::new(Waiting { since: BTreeMap::new(), now: BTreeSet::new(), again }));
    seams.config.push(Box::new(NotServed(Arc::clone(&waiting))));
    seams.statuses.push(Box::new(NotYet { waiting, reason, shows_addresses }));
}

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "starts-data-planes-late",
        summary: "Gives a Gateway its address at once and its data plane two seconds later: the listeners say \
                  Programmed=True, the Gateway says Programmed=False/NoResources, and connections are refused.",
        source: "Gateway.status.conditions, Programmed: a Gateway whose infrastructure is not there yet is not \
                 programmed, and NoResources is a listed reason; GEP1364-18 asks for traffic once it is True.",
        place: Place::Runtime(|seams| late(seams, "NoResources", true)),
    },
    Variant {
        name: "assigns-addresses-late",
        summary: "Gives a Gateway its address and its data plane two seconds after its listeners say Programmed=True; \
                  until then it says Programmed=False/AddressNotAssigned.",
        source: "Gateway.status.conditions, Programmed: AddressNotAssigned is the listed reason while no address is \
                 assigned; nothing ties the conditions of listeners to it.",
        place: Place::Runtime(|seams| late(seams, "AddressNotAssigned", false)),
    },
];
