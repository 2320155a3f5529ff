//! The loop of one watch: it is opened again whenever it ends, and what it may have missed is listed anew.
//!
//! A watch that lived but a moment counts as failed, however it ended, so nothing that a server does makes it a hail of
//! requests: the pauses grow until a watch has lived longer.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::TryStreamExt;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::api::{Api, ApiError, watch_error};
use super::clock;

/// How long the server is asked to keep a watch open; it is resumed without loss.
const WATCH_SECONDS: u32 = 290;
/// How long a watch stays open that gives nothing, not even a bookmark: then another one is asked, from where it stood.
/// Servers that give bookmarks give one a minute.
const SILENCE: Duration = Duration::from_secs(75);
/// A watch that ended sooner counts as a failure.
const SHORT_LIFE: Duration = Duration::from_secs(5);
/// The first pause after a failure, and the longest; each may come out up to twice as long.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));
/// How many watches in a row may end at once without a word until a list has to say what is there.
const EMPTY: u32 = 3;
/// Why everything is listed anew that nobody has lost.
const DOUBTED: &str = "a read showed what it did not";
/// Why everything is listed of a kind that was not served.
const APPEARED: &str = "it was not served before";

/// What is followed by a watch.
pub(super) trait Followed {
    /// What to ask for: path and query without what is about the watch.
    fn path(&self) -> String;

    /// As what: a media type.
    fn accepts(&self) -> &'static str {
        "application/json"
    }

    /// Something changed.
    fn changed(&mut self, object: Value);

    /// Something is gone; this was its last version.
    fn gone(&mut self, object: Value);

    /// The watch is not open, for this reason, or is not to be believed.
    fn blind(&mut self, reason: &str, doubted: bool);

    /// It is open again.
    fn sighted(&mut self);

    /// Takes in all that is there instead of what was missed, and says from which version to go on. Until it is complete, what
    /// was known stays.
    fn relist(&mut self, reason: &str) -> impl Future<Output = Result<String, ApiError>> + Send;

    /// Whether there is no use in going on.
    fn is_over(&self, error: &ApiError) -> bool;

    /// Whether an error says no more than that there is nothing, until somebody asks to begin anew.
    fn is_absent(&self, _: &ApiError) -> bool {
        false
    }

    /// There is nothing.
    fn absent(&mut self) {}
}

/// Asks a watch to begin anew, and knows when it has.
#[derive(Debug, Clone)]
pub(super) struct Renewal {
    asked: watch::Sender<u64>,
    relisted: watch::Sender<u64>,
}

impl Renewal {
    pub(super) fn new() -> Renewal {
        Renewal { asked: watch::Sender::new(0), relisted: watch::Sender::new(0) }
    }

    /// Returns once everything has been listed that was there after this was called.
    pub(super) async fn renew(&self) {
        let mut relisted = self.relisted.subscribe();
        let mut goal = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            goal = *asked;
        });
        // The sender lives as long as this.
        drop(relisted.wait_for(|done| *done >= goal).await);
    }

    /// What was asked for and is not done yet.
    fn owed(&self, asked: &mut watch::Receiver<u64>) -> Option<u64> {
        let goal = *asked.borrow_and_update();
        (goal > *self.relisted.borrow()).then_some(goal)
    }
}

/// How a watch ended.
enum End {
    /// The server ended it, or it gave nothing for too long.
    Over,
    Failed(ApiError),
    /// Somebody wants it to begin anew.
    Doubted,
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(PAUSES.0)
        .with_max_delay(PAUSES.1)
        .without_max_times()
        .with_jitter()
        .build()
}

/// Follows from `version` on, until there is no use in it.
pub(super) async fn follow<F: Followed>(mut followed: F, api: Api, mut version: String, renewal: Renewal) {
    let mut asked = renewal.asked.subscribe();
    let mut pauses = pauses();
    let mut missed: Option<String> = None;
    let mut empty = 0;
    loop {
        let owed = renewal.owed(&mut asked);
        if owed.is_some() && !matches!(missed.as_deref(), Some(DOUBTED | APPEARED)) {
            followed.blind(DOUBTED, true);
            missed = Some(DOUBTED.to_owned());
        }
        let (opened, before) = (clock::now(), version.clone());
        let end = match &missed {
            None => open(&mut followed, &api, &mut version, &mut asked).await,
            Some(reason) => match followed.relist(reason).await {
                Ok(fresh) => {
                    version = fresh;
                    missed = None;
                    if let Some(goal) = owed {
                        renewal.relisted.send_replace(goal);
                    }
                    continue;
                }
                Err(error) => End::Failed(error),
            },
        };
        let has_lived = missed.is_none() && clock::now() - opened >= SHORT_LIFE;
        if has_lived {
            pauses = self::pauses();
        }
        if has_lived || version != before {
            empty = 0;
        }
        let (reason, is_away) = match end {
            End::Doubted => continue,
            End::Over if has_lived => continue,
            End::Over => {
                empty += 1;
                ("it ended at once".to_owned(), false)
            }
            End::Failed(error) if followed.is_absent(&error) => {
                followed.absent();
                missed = Some(APPEARED.to_owned());
                drop(asked.changed().await);
                continue;
            }
            End::Failed(error) if followed.is_over(&error) => return followed.blind(&error.to_string(), false),
            End::Failed(error) => {
                if error.is_expired() {
                    missed = Some(error.to_string());
                }
                (error.to_string(), error.is_absence())
            }
        };
        if empty >= EMPTY {
            missed.get_or_insert_with(|| reason.clone());
        }
        followed.blind(&reason, false);
        if is_away {
            api.back().await;
        }
        tokio::select! {
            () = clock::until(clock::now() + pauses.next().unwrap_or(PAUSES.1)) => {}
            _ = asked.changed() => {}
        }
    }
}

/// One watch, from `version` until it ends. Moves `version` along.
async fn open<F: Followed>(followed: &mut F, api: &Api, version: &mut String, asked: &mut watch::Receiver<u64>) -> End {
    tokio::select! {
        ended = read(followed, api, version) => ended.map_or_else(End::Failed, |()| End::Over),
        _ = asked.changed() => End::Doubted,
    }
}

async fn read<F: Followed>(followed: &mut F, api: &Api, version: &mut String) -> Result<(), ApiError> {
    let path = format!(
        "{}watch=true&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}",
        followed.path()
    );
    let Ok(opened) = tokio::time::timeout_at(silence(), api.watch_as(&path, followed.accepts())).await else {
        return Ok(());
    };
    let mut events = std::pin::pin!(opened?);
    followed.sighted();
    loop {
        let Ok(next) = tokio::time::timeout_at(silence(), events.try_next()).await else { return Ok(()) };
        match next.map_err(|error| watch_error(&error))? {
            None => return Ok(()),
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                advance(version, &object);
                followed.changed(object);
            }
            Some(WatchEvent::Deleted(object)) => {
                advance(version, &object);
                followed.gone(object);
            }
            Some(WatchEvent::Bookmark(bookmark)) => *version = bookmark.metadata.resource_version,
            Some(WatchEvent::Error(status)) => {
                return Err(ApiError::Refused {
                    code: status.code,
                    reason: status.reason.clone(),
                    message: status.message.clone(),
                });
            }
        }
    }
}

/// When a watch has been silent for too long.
fn silence() -> Instant {
    clock::now() + SILENCE
}

fn advance(version: &mut String, object: &Value) {
    if let Some(next) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        next.clone_into(version);
    }
}
