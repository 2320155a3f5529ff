//! `/token` and `/control/`: what is no part of ARM, and is not logged.

use std::str::FromStr;

use http::{Method, StatusCode};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::json;

use crate::answer::{Answer, Fault};
use crate::book::LONGEST_KEY;
use crate::core::{Core, Request};
use crate::log::Wanted;
use crate::script::Script;
use crate::tokens::same;

/// How many bytes a client id or an audience may have.
const LONGEST_NAME: usize = 256;

/// The header that makes the endpoint of managed identities answer.
const IDENTITY_HEADER: &str = "x-identity-header";

impl Core {
    /// The endpoint of managed identities.
    pub(crate) fn token(&mut self, now: Timestamp, request: &Request<'_>) -> Result<Answer, Fault> {
        only(request, &[Method::GET])?;
        let given = request.headers.get(IDENTITY_HEADER).and_then(|value| value.to_str().ok());
        if !given.is_some_and(|given| same(&self.identity_header, given)) {
            let message = "The header X-IDENTITY-HEADER is missing, or is not the one of this server.";
            return Err(Fault::new(StatusCode::UNAUTHORIZED, "Unauthorized", message));
        }
        let parameter = |name: &str| request.parameter(name).filter(|value| !value.is_empty());
        let (Some(_), Some(resource)) = (parameter("api-version"), parameter("resource")) else {
            return Err(Fault::bad("BadRequest", "The query needs the parameters api-version and resource."));
        };
        let caller = parameter("client_id").unwrap_or_else(|| self.client.clone());
        if caller.len().max(resource.len()) > LONGEST_NAME {
            let message = format!("The parameters client_id and resource have at most {LONGEST_NAME} bytes.");
            return Err(Fault::bad("BadRequest", message));
        }
        let token = self.tokens.give(now, &self.secrets, &caller, &resource);
        let given = json!({
            "access_token": token.text,
            "expires_on": token.expires.as_second().to_string(),
            "resource": token.resource,
            "token_type": "Bearer",
        });
        Ok(Answer::json(StatusCode::OK, &given).with(http::header::CACHE_CONTROL, "no-store"))
    }

    /// Scripts and the log.
    pub(crate) fn control(&mut self, request: &Request<'_>) -> Result<Answer, Fault> {
        if !self.is_control(request.headers) {
            let message = "The request does not carry the control token as its bearer token.";
            return Err(Fault::new(StatusCode::UNAUTHORIZED, "Unauthorized", message));
        }
        if request.path == "/control/requests" {
            only(request, &[Method::GET])?;
            let after = match request.parameter("after") {
                None => 0,
                Some(text) => u64::from_str(&text)
                    .map_err(|error| Fault::bad("InvalidParameter", format!("`after` is no number: {error}")))?,
            };
            let wanted = Wanted { values: request.parameters("body"), digests: request.parameters("digest") };
            return Ok(Answer::json(StatusCode::OK, &self.requests(after, &wanted)));
        }
        let Some(key) = request.path.strip_prefix("/control/scripts/") else {
            let message = "Under /control/ there are `requests` and `scripts/KEY`.";
            return Err(Fault::missing("NotFound", message));
        };
        only(request, &[Method::PUT, Method::DELETE])?;
        let key = percent_decode_str(key).decode_utf8_lossy();
        if key.is_empty() || key.len() > LONGEST_KEY {
            let message = format!("The key of a script has 1 to {LONGEST_KEY} bytes.");
            return Err(Fault::bad("InvalidKey", message));
        }
        if *request.method == Method::DELETE {
            return if self.book.remove(&key) {
                Ok(Answer::empty(StatusCode::NO_CONTENT))
            } else {
                Err(Fault::missing("NotFound", format!("There is no script `{key}`.")))
            };
        }
        let invalid = |error: crate::ScriptError| Fault::bad("InvalidScript", error.to_string());
        let script = Script::parse(request.body()?).map_err(invalid)?;
        let is_new = self.book.put(&key, &script).map_err(invalid)?;
        Ok(Answer::empty(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT }))
    }
}

/// Refuses other methods.
pub(crate) fn only(request: &Request<'_>, methods: &[Method]) -> Result<(), Fault> {
    if methods.contains(request.method) {
        return Ok(());
    }
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let message = format!("This path takes {} only.", names.join(" and "));
    Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message))
}
