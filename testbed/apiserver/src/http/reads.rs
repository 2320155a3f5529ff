//! GET of one object and of lists.

use http::{Response, StatusCode};

use super::answers::answer_with;
use super::app::{App, Call};
use super::body::Body;
use crate::cluster::{Continue, Target};
use crate::error::ApiError;
use crate::present::{self, ListMeta};

/// One object.
pub fn get(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?.suits(false)?;
    call.query.not_newer(app.cluster.store.revision())?;
    let stored = app.cluster.get(target)?;
    let text = present::object(target.resource, accepted, &stored, call.query.included()?)?;
    Ok(answer_with(StatusCode::OK, accepted.format.media(), &[], text))
}

/// A list or a page of one.
pub fn list(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let accepted = call.accepted()?.suits(true)?;
    let options = call.query.list(target.resource, target.namespace)?;
    let page = app.cluster.list(target.resource, &options)?;
    let resume = page.next.map(|key| Continue { revision: page.revision, after: (key.namespace, key.name) }.token());
    let known = resume.is_some() && !options.selection.is_selective();
    let metadata = ListMeta {
        resource_version: page.revision.to_string(),
        resume: resume.unwrap_or_default(),
        remaining: known.then_some(page.remaining),
    };
    let include = call.query.included()?;
    let text = present::list(target.resource, accepted, &page.objects, &metadata, include)?;
    Ok(answer_with(StatusCode::OK, accepted.format.media(), &[], text))
}
