//! What everything that answers requests has at hand, and the request itself.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, header};
use tokio_util::sync::CancellationToken;

use super::counters::Counters;
use super::query::Query;
use super::trouble::Trouble;
use crate::auth::{Issuer, User};
use crate::cluster::Cluster;
use crate::error::ApiError;
use crate::present::Accepted;

/// Everything that answers requests, whichever way they come.
pub struct App {
    /// The state.
    pub cluster: Arc<Cluster>,
    /// What was asked so far.
    pub counters: Counters,
    /// Ends all watches.
    pub closing: CancellationToken,
    /// What goes wrong on purpose.
    pub trouble: Trouble,
    /// The bearer token of the administrator.
    pub token: String,
    /// Issues the tokens of ServiceAccounts.
    pub issuer: Issuer,
}

/// One request, read and taken apart.
pub struct Call<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The method.
    pub method: Method,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The query parameters.
    pub query: Query,
    /// The body.
    pub body: Bytes,
}

impl Call<'_> {
    /// A header's text, or nothing.
    pub fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The media type of the body, without parameters.
    pub fn media(&self) -> &str {
        self.header(header::CONTENT_TYPE).split(';').next().unwrap_or("").trim()
    }

    /// Who asks.
    pub fn user_agent(&self) -> &str {
        self.header(header::USER_AGENT)
    }

    /// What the answer shall look like.
    ///
    /// # Errors
    /// 406 if the server cannot do it.
    pub fn accepted(&self) -> Result<Accepted, ApiError> {
        Accepted::parse(self.header(header::ACCEPT))
    }
}
