//! Reading: one object, or lists in pages.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::{Cluster, Target};
use crate::error::ApiError;
use crate::kinds::events;
use crate::meta;
use crate::resource::Resource;
use crate::select::Selection;
use crate::store::{Key, Object, Page, StoreError};

/// What a list is asked for.
#[derive(Debug, Clone, Default)]
pub struct ListOptions {
    /// What to leave out.
    pub selection: Selection,
    /// How many objects at most.
    pub limit: Option<usize>,
    /// Where to go on.
    pub resume: Option<Continue>,
    /// `resourceVersion`; nothing stands for the newest state.
    pub revision: Option<u64>,
    /// `resourceVersionMatch=Exact`, or what stands for it.
    pub exact: bool,
}

/// What a continue token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continue {
    /// The revision that the whole list shows.
    #[serde(rename = "rv")]
    pub revision: u64,
    /// Namespace and name of the last object delivered.
    pub after: (String, String),
}

impl Continue {
    /// Reads a token.
    ///
    /// # Errors
    /// 400 for anything that this server has not issued.
    pub fn parse(token: &str) -> Result<Self, ApiError> {
        let invalid = || ApiError::bad_request("continue key is not valid");
        let json = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
        serde_json::from_slice(&json).map_err(|_| invalid())
    }

    /// The token that says this.
    pub fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::json!({"rv": self.revision, "after": self.after}).to_string())
    }
}

impl Cluster {
    /// One object, in its stored form.
    ///
    /// # Errors
    /// 404 where there is none.
    pub fn get(&self, target: Target<'_>) -> Result<Object, ApiError> {
        let object = self.store.get(&target.resource.collection, &target.key());
        object.ok_or_else(|| ApiError::not_found(target.resource, target.name))
    }

    /// A list, or a page of one, of objects in their stored form.
    ///
    /// # Errors
    /// 410 if the revision asked for, or the rest of a list, is gone; 504 if the revision is yet to come.
    pub fn list(&self, resource: &Resource, options: &ListOptions) -> Result<Page, ApiError> {
        let namespace = options.selection.namespace.as_deref();
        let at = match (&options.resume, options.revision) {
            (Some(resume), _) => Some(resume.revision),
            (None, Some(revision)) if options.exact && revision != 0 => Some(revision),
            (None, Some(revision)) => {
                let current = self.store.revision();
                if revision > current {
                    return Err(ApiError::too_large_resource_version(revision, current));
                }
                None
            }
            (None, None) => None,
        };
        let snapshot = self.store.snapshot(&resource.collection, namespace, at).map_err(|error| match error {
            StoreError::Compacted { .. } if options.resume.is_some() => ApiError::expired(
                "The provided continue parameter is too old to display a consistent list result. \
                 Start a new list without the continue parameter.",
            ),
            other => ApiError::from_store(other, resource, "", ""),
        })?;
        let after = options.resume.as_ref().map(|resume| Key::new(&*resume.after.0, &*resume.after.1));
        Ok(snapshot.page(after.as_ref(), options.limit, |object| options.selection.admits(object)))
    }
}

/// A stored object in the version in which a resource shows it.
pub fn view(resource: &Resource, stored: &Object) -> Object {
    if meta::api_version(stored) == resource.api_version() {
        return stored.clone();
    }
    let mut object = (**stored).clone();
    if &*resource.collection == "events" {
        return Arc::new(events::convert(object, &resource.api_version()));
    }
    meta::as_map(&mut object).insert("apiVersion".into(), resource.api_version().into());
    Arc::new(object)
}
