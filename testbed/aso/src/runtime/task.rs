//! The life of one object: decide, act, wait.

use std::{sync::Arc, time::Duration};

use gateproof_runtime::behaviour::Spoiler;
use jiff::Timestamp;

use super::{Shared, writes::Writer};
use crate::{
    arm::{Outcome, Request},
    decide::{Again, Decision, Memory, Seen},
    world::{Facts, Key, World, observe},
};

/// How long a request that is out may still take once everything is to stop.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait, before scaling, after the API server refused a write.
const PAUSE: Duration = Duration::from_secs(1);

/// Looks after one object until it is gone.
pub(super) async fn run(shared: Arc<Shared>, key: Key, uid: String) {
    let mut changes = shared.changes.subscribe();
    let mut memory = Memory::default();
    let mut answer: Option<(Request, Outcome)> = None;
    loop {
        changes.borrow_and_update();
        let Some(facts) = view(&shared, &key, &uid) else { return };
        let settings = &shared.settings;
        let heard = answer.as_ref().map(|(request, outcome)| (request, outcome));
        let seen = Seen { facts: &facts, memory: &memory, answer: heard, now: Timestamp::now(), settings };
        let decision = shared.behaviour.decide(seen);
        let wait = match act(&shared, &key, &facts, &decision).await {
            Ok(()) => {
                let Decision { request, again, memory: next, .. } = decision;
                (memory, answer) = (next, None);
                if let Some(request) = request {
                    let Some(outcome) = send(&shared, &request).await else { return };
                    answer = Some((request, outcome));
                    continue;
                }
                again
            }
            Err(error) => {
                // The answer of ARM is kept: nobody would tell it again.
                tracing::warn!(kind = key.kind, name = key.name, %error, "a write failed and will be tried again");
                Again::After(settings.scaled(PAUSE))
            }
        };
        let delay = match wait {
            Again::Now => Some(Duration::ZERO),
            Again::After(delay) => Some(delay),
            Again::Change => None,
        };
        let over = async {
            match delay {
                Some(delay) => tokio::time::sleep(delay).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shared.stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
            () = over => {}
        }
    }
}

fn view(shared: &Shared, key: &Key, uid: &str) -> Option<Facts> {
    let mut facts = match shared.behaviour.spoiler() {
        None => observe(&shared.world(), key, &shared.settings)?,
        Some(spoiler) => observe(&restored(&shared.world(), spoiler), key, &shared.settings)?,
    };
    if facts.meta("uid") != uid {
        return None;
    }
    shared.behaviour.view(&mut facts);
    Some(facts)
}

/// The world as it would be if nothing had been spoiled.
fn restored(world: &World, spoiler: &dyn Spoiler) -> World {
    let mut world = world.clone();
    for (key, object) in &mut world.objects {
        if let Some(plain) = spoiler.restore(&key.kind, object) {
            *object = Arc::new(plain);
        }
    }
    world
}

/// Sends a request; nothing comes of it once everything is to stop, unless it is out already and answered soon.
async fn send(shared: &Shared, request: &Request) -> Option<Outcome> {
    if shared.stop.is_cancelled() {
        return None;
    }
    let answer = shared.arm.send(request);
    tokio::pin!(answer);
    let mut outcome = tokio::select! {
        outcome = &mut answer => outcome,
        () = shared.stop.cancelled() => tokio::time::timeout(GRACE, answer).await.ok()?,
    };
    shared.behaviour.hear(request, &mut outcome);
    Some(outcome)
}

/// Carries out what was decided, but for the request.
async fn act(shared: &Shared, key: &Key, facts: &Facts, decision: &Decision) -> kube::Result<()> {
    let writer = Writer { shared, key, facts, decision };
    let leaves = decision.finalizer == Some(false);
    if decision.status_first && !leaves {
        writer.status().await?;
    }
    if !leaves {
        writer.metadata().await?;
    }
    writer.exports().await?;
    if !decision.status_first || leaves {
        writer.status().await?;
    }
    writer.event().await?;
    if leaves {
        writer.metadata().await?;
    }
    Ok(())
}
