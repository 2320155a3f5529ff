//! Watches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{Response, StatusCode, header};
use rand::Rng;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::app::{App, Call};
use super::body::Body;
use super::disturb::{Disturbance, Disturbed};
use super::query::WatchOptions;
use crate::cluster::{Cluster, Target};
use crate::error::ApiError;
use crate::meta;
use crate::present::{self, Form};
use crate::resource::Resource;
use crate::select::Selection;
use crate::store::{Change, Event, Object, Subscription};

/// How often a quiet watch that welcomes bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(30);
/// How long a watch lasts at least where the client sets no limit, in seconds; at most twice as long.
const SHORTEST: u64 = 1800;

struct Watch {
    cluster: Arc<Cluster>,
    reloads: watch::Receiver<()>,
    resource: Arc<Resource>,
    selection: Selection,
    form: Form,
    bookmarks: bool,
    subscription: Subscription,
    deadline: Instant,
    next_bookmark: Instant,
    closing: CancellationToken,
    cuts: watch::Receiver<u64>,
    disturbed: Disturbed,
    /// What is to be sent before any event.
    initial: Option<Vec<u8>>,
    /// Whether a Table of this watch has told its columns.
    headed: bool,
    over: bool,
}

/// Starts a watch.
pub fn start(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?;
    let resource = target.resource;
    let mut options = call.query.watch(resource, target.namespace)?;
    if !target.name.is_empty() {
        options.selection.fields =
            crate::select::FieldSelector::parse(&format!("metadata.name={}", target.name), resource)
                .map_err(ApiError::bad_request)?;
    }
    let (objects, subscription) = match subscribe(app, resource, &options) {
        Ok(subscribed) => subscribed,
        // A version that is gone is told by an event: clients that get it as an answer ask for the same one for ever.
        Err(error) if error.code == StatusCode::GONE => {
            let mut event = Vec::new();
            present::error_event(&mut event, &error);
            return Ok(streamed(futures::stream::once(std::future::ready(event.into()))));
        }
        Err(error) => return Err(error),
    };
    let seconds = options.timeout.unwrap_or_else(|| rand::rng().random_range(SHORTEST..2 * SHORTEST));
    let now = Instant::now();
    let mut watch = Watch {
        cluster: app.cluster.clone(),
        reloads: app.cluster.reloads(),
        resource: resource.clone(),
        selection: options.selection,
        form: accepted.form,
        bookmarks: options.bookmarks,
        subscription,
        deadline: now + Duration::from_secs(seconds),
        next_bookmark: now + BOOKMARK_EVERY,
        closing: app.closing.clone(),
        cuts: app.trouble.cuts(),
        disturbed: app.trouble.watch_of(call.user_agent()),
        initial: None,
        headed: false,
        over: false,
    };
    watch.begin(&objects, options.initial_events == Some(true));
    let pieces = futures::stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) });
    Ok(streamed(pieces))
}

fn streamed(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::stream(pieces));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

fn subscribe(
    app: &App,
    resource: &Arc<Resource>,
    options: &WatchOptions,
) -> Result<(Vec<Object>, Subscription), ApiError> {
    let store = &app.cluster.store;
    match (options.initial_events, options.revision) {
        (Some(true), revision) => {
            let current = store.revision();
            match revision {
                Some(asked) if asked > current => Err(ApiError::too_large_resource_version(asked, current)),
                _ => Ok(Subscription::from_now(store, &resource.collection)),
            }
        }
        (Some(false), None | Some(0)) => Ok((Vec::new(), Subscription::from_now(store, &resource.collection).1)),
        (None, None | Some(0)) => Ok(Subscription::from_now(store, &resource.collection)),
        (_, Some(revision)) => Subscription::since(store, &resource.collection, revision)
            .map(|subscription| (Vec::new(), subscription))
            .map_err(|error| ApiError::from_store(error, resource, "", "")),
    }
}

impl Watch {
    fn begin(&mut self, objects: &[Object], marked_end: bool) {
        let mut out = Vec::new();
        for object in objects {
            if self.selection.admits(object) {
                self.write(&mut out, "ADDED", object);
            }
        }
        if marked_end && self.bookmarks {
            present::bookmark(&mut out, &self.resource, self.form, self.subscription.delivered(), true);
        }
        self.initial = (!out.is_empty()).then_some(out);
    }

    /// The next piece of text that is not lost on purpose, or nothing when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let piece = self.piece().await?;
            if !self.disturbed.loses() {
                return Some(piece);
            }
        }
    }

    async fn piece(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        loop {
            match self.disturbed.now() {
                Some(Disturbance::Ends) => {
                    self.disturbed.met();
                    return None;
                }
                Some(Disturbance::Expired) => {
                    self.disturbed.met();
                    self.over = true;
                    let mut out = Vec::new();
                    present::error_event(&mut out, &ApiError::expired("the watch is disturbed"));
                    return Some(out.into());
                }
                Some(Disturbance::Silent | Disturbance::Swallows(_)) | None => {}
            }
            if let Some(initial) = self.initial.take() {
                return Some(initial.into());
            }
            let mut out = Vec::new();
            match self.subscription.take() {
                Ok(events) => events.iter().for_each(|event| self.relate(&mut out, event)),
                Err(error) => {
                    self.over = true;
                    present::error_event(&mut out, &ApiError::from_store(error, &self.resource, "", ""));
                }
            }
            if !out.is_empty() {
                return Some(out.into());
            }
            if self.over {
                return None;
            }
            tokio::select! {
                () = self.subscription.changed() => {}
                () = self.disturbed.changed() => {}
                _ = self.reloads.changed() => self.over = !self.is_served(),
                () = tokio::time::sleep_until(self.next_bookmark), if self.bookmarks => {
                    self.next_bookmark += BOOKMARK_EVERY;
                    return Some(self.bookmark());
                }
                () = tokio::time::sleep_until(self.deadline) => {
                    self.over = true;
                    return self.bookmarks.then(|| self.bookmark());
                }
                () = self.closing.cancelled() => return None,
                _ = self.cuts.changed() => return None,
            }
        }
    }

    fn is_served(&self) -> bool {
        let Resource { group, version, plural, .. } = &*self.resource;
        self.cluster.registry().resource(group, version, plural).is_some()
    }

    fn bookmark(&self) -> Bytes {
        let mut out = Vec::new();
        present::bookmark(&mut out, &self.resource, self.form, self.subscription.delivered(), false);
        out.into()
    }

    /// Writes an event as it looks through the selection: what comes in is added, what goes out is deleted.
    fn relate(&mut self, out: &mut Vec<u8>, event: &Event) {
        let admitted = |object: &Option<Object>| object.as_ref().is_some_and(|object| self.selection.admits(object));
        let before = admitted(&event.previous);
        let after = event.change != Change::Deleted && self.selection.admits(&event.object);
        match (before, after) {
            (true, true) => self.write(out, "MODIFIED", &event.object),
            (false, true) => self.write(out, "ADDED", &event.object),
            (true, false) => match (&event.previous, event.change) {
                (Some(previous), Change::Modified) => {
                    let mut last: Value = (**previous).clone();
                    meta::set_resource_version(&mut last, event.revision);
                    self.write(out, "DELETED", &Arc::new(last));
                }
                _ => self.write(out, "DELETED", &event.object),
            },
            (false, false) => {}
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, kind: &str, object: &Object) {
        present::event(out, &self.resource, self.form, kind, object, !self.headed);
        self.headed = true;
    }
}
