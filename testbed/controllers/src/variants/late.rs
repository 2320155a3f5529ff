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

/// The same where machines have to come up first, for which nobody is given time who is held to answer at once.
const MACHINES: Duration = Duration::from_secs(20);

/// How long each of these lets a Gateway wait.
const DELAYS: [(&str, Duration); 3] =
    [("starts-data-planes-late", DELAY), ("assigns-addresses-late", DELAY), ("waits-for-machines", MACHINES)];

/// How long a Gateway waits for its data plane under a variant, where that is what the variant is about.
pub(super) fn delay(name: &str) -> Option<Duration> {
    DELAYS.iter().find(|(one, _)| *one == name).map(|(_, delay)| *delay)
}

/// Whose data plane is not there yet.
pub(super) trait Pace: Send {
    /// Takes in which Gateways there are now, by UID. Gives those that wait, and when the first of them may be done.
    fn round(&mut self, there: &BTreeSet<&str>, now: Instant) -> (BTreeSet<String>, Option<Instant>);
}

/// Each waits for so long as if it were alone.
struct Each {
    delay: Duration,
    /// When each was first seen, by UID.
    since: BTreeMap<String, Instant>,
}

impl Each {
    fn boxed(delay: Duration) -> Box<dyn Pace> {
        Box::new(Each { delay, since: BTreeMap::new() })
    }
}

impl Pace for Each {
    fn round(&mut self, there: &BTreeSet<&str>, now: Instant) -> (BTreeSet<String>, Option<Instant>) {
        self.since.retain(|uid, _| there.contains(uid.as_str()));
        for uid in there {
            self.since.entry((*uid).to_owned()).or_insert(now);
        }
        let waiting = || self.since.iter().map(|(uid, since)| (uid, *since + self.delay)).filter(|(_, up)| now < *up);
        (waiting().map(|(uid, _)| uid.clone()).collect(), waiting().map(|(_, up)| up).min())
    }
}

/// The Gateways that wait for their data plane.
struct Waiting {
    pace: Box<dyn Pace>,
    /// Those that wait as of this round.
    now: BTreeSet<ObjectKey>,
    again: Arc<Notify>,
    /// When another round is seen to already.
    woken: Option<Instant>,
}

impl Waiting {
    /// Settles who waits in this round, and sees to another one when a wait is over.
    fn round(&mut self, seen: Seen<'_>) {
        let now = Instant::now();
        let there = seen.snapshot.all(Kind::Gateway).map(|gateway| gateway.meta.uid.as_str()).collect();
        let (waiting, next) = self.pace.round(&there, now);
        let gateways = seen.snapshot.all(Kind::Gateway).filter(|gateway| waiting.contains(&gateway.meta.uid));
        self.now = gateways.map(|gateway| gateway.key()).collect();
        let next = next.filter(|next| self.woken.is_none_or(|woken| woken <= now || *next < woken));
        if let Some(next) = next {
            self.woken = Some(next);
            let again = Arc::clone(&self.again);
            tokio::spawn(async move {
                tokio::time::sleep_until(next).await;
                again.notify_one();
            });
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

pub(super) fn late(seams: &mut Seams, pace: Box<dyn Pace>, reason: &'static str, shows_addresses: bool) {
    let again = Arc::clone(&seams.again);
    let waiting = Shared::new(Mutex::new(Waiting { pace, now: BTreeSet::new(), again, woken: None }));
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
        place: Place::Runtime(|seams| late(seams, Each::boxed(DELAY), "NoResources", true)),
    },
    Variant {
        name: "assigns-addresses-late",
        summary: "Gives a Gateway its address and its data plane two seconds after its listeners say Programmed=True; \
                  until then it says Programmed=False/AddressNotAssigned.",
        source: "Gateway.status.conditions, Programmed: AddressNotAssigned is the listed reason while no address is \
                 assigned; nothing ties the conditions of listeners to it.",
        place: Place::Runtime(|seams| late(seams, Each::boxed(DELAY), "AddressNotAssigned", false)),
    },
    Variant {
        name: "waits-for-machines",
        summary: "Gives a Gateway its address and its data plane twenty seconds after its listeners say Programmed=True; \
                  until then it says Programmed=False/Pending.",
        source: "Gateway.status.conditions, Programmed: Pending is the listed reason while something is waited for; no \
                 condition of a listener is tied to it, and nothing in the specification says how long it takes.",
        place: Place::Runtime(|seams| late(seams, Each::boxed(MACHINES), "Pending", false)),
    },
];
