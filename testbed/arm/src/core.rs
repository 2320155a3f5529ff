//! The whole of it without sockets and clocks: a request and a time in, an answer and an entry of the log out.

use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;

use crate::answer::{Answer, Fault};
use crate::book::Book;
use crate::log::{Log, Wanted};
use crate::operations::Operations;
use crate::resources::Resources;
use crate::tokens::{Secrets, Tokens, bearer, same};
use crate::{ArmOptions, LONGEST_PATH, LogPage, MOST_BODY};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path, percent signs included.
    pub path: &'a str,
    /// The query without its question mark; empty for none.
    pub query: &'a str,
    /// The header fields.
    pub headers: &'a HeaderMap,
    /// The body, if it came whole.
    pub body: Result<&'a [u8], BodyFault>,
}

/// Why there is no whole body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFault {
    /// It has more than [`MOST_BODY`] bytes.
    TooLarge,
    /// It broke off, or took too long.
    BrokenOff,
}

/// The state machine.
pub struct Core {
    pub(crate) subscription: String,
    pub(crate) client: String,
    pub(crate) base: String,
    pub(crate) identity_header: String,
    pub(crate) control_token: String,
    pub(crate) secrets: Secrets,
    pub(crate) tokens: Tokens,
    pub(crate) book: Book,
    pub(crate) log: Log,
    pub(crate) resources: Resources,
    pub(crate) operations: Operations,
}

impl Core {
    /// A state without resources and scripts. Clients reach it at `base`, such as `https://127.0.0.1:8443`; all its secrets
    /// follow from the seed.
    pub fn new(options: &ArmOptions, base: &str, seed: [u8; 32]) -> Self {
        let secrets = Secrets::new(seed);
        Self {
            subscription: options.subscription.clone(),
            client: options.client.clone(),
            base: base.to_owned(),
            identity_header: secrets.text("identity header"),
            control_token: secrets.text("control token"),
            secrets,
            tokens: Tokens::new(options.token_life),
            book: Book::default(),
            log: Log::new(options.log_capacity, options.log_tamper.clone()),
            resources: Resources::default(),
            operations: Operations::default(),
        }
    }

    /// The bearer token for `/control/`.
    pub fn control_token(&self) -> &str {
        &self.control_token
    }

    /// What the header `X-IDENTITY-HEADER` must say.
    pub fn identity_header(&self) -> &str {
        &self.identity_header
    }

    /// What is kept of the requests with greater numbers, and of their bodies what is wanted.
    pub fn requests(&mut self, after: u64, wanted: &Wanted) -> LogPage {
        self.log.after(after, wanted)
    }

    /// Answers a request. Times must not run backwards from one to the next.
    pub fn handle(&mut self, now: Timestamp, request: &Request<'_>) -> Answer {
        let answer = match request.path {
            "/token" => self.token(now, request).unwrap_or_else(Answer::from),
            path if path == "/control" || path.starts_with("/control/") => {
                self.control(request).unwrap_or_else(Answer::from)
            }
            _ => self.arm(now, request),
        };
        answer.fit_for(request.method)
    }

    /// A request to ARM, which is logged whatever comes of it.
    fn arm(&mut self, now: Timestamp, request: &Request<'_>) -> Answer {
        let (caller, answer) = match self.caller(now, request.headers) {
            Err(fault) => {
                let answer = Answer::from(fault).with(http::header::WWW_AUTHENTICATE, "Bearer");
                (String::new(), answer)
            }
            Ok(caller) if request.path.len() + request.query.len() > LONGEST_PATH => {
                let message = format!("Path and query have more than {LONGEST_PATH} bytes together.");
                (caller, Fault::new(StatusCode::URI_TOO_LONG, "UriTooLong", message).into())
            }
            Ok(caller) => (caller, self.manage(now, request)),
        };
        let line =
            (cut(request.method.as_str(), 32), cut(request.path, LONGEST_PATH), cut(request.query, LONGEST_PATH));
        // Whoever is not known may not fill the log.
        let body = request.body.ok().filter(|_| !caller.is_empty());
        self.log.write(now, line, &caller, body, answer.status.as_u16());
        answer
    }

    /// Whose token the request carries.
    fn caller(&self, now: Timestamp, headers: &HeaderMap) -> Result<String, Fault> {
        let refused = |code, message: &str| Err(Fault::new(StatusCode::UNAUTHORIZED, code, message));
        let Some(text) = bearer(headers) else {
            return refused("AuthenticationFailed", "The request carries no bearer token in its header Authorization.");
        };
        match self.tokens.find(text) {
            None => refused("InvalidAuthenticationToken", "The bearer token was not given out here, or is long over."),
            Some(token) if token.expires <= now => {
                refused("ExpiredAuthenticationToken", "The time of the bearer token is over.")
            }
            Some(token) if token.resource.trim_end_matches('/') != self.base => refused(
                "InvalidAuthenticationTokenAudience",
                "The bearer token is for another resource than this server's URL.",
            ),
            Some(token) => Ok(token.caller.clone()),
        }
    }

    pub(crate) fn is_control(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|token| same(&self.control_token, token))
    }
}

impl Request<'_> {
    /// The value of a parameter of the query, decoded; the first one where there are several.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// All values of a parameter of the query, decoded.
    pub(crate) fn parameters(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(self.query.as_bytes()).filter(|(key, _)| key == name);
        pairs.map(|(_, value)| value.into_owned()).collect()
    }

    pub(crate) fn body(&self) -> Result<&[u8], Fault> {
        self.body.map_err(|fault| match fault {
            BodyFault::TooLarge => Fault::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestContentTooLarge",
                format!("The body has more than {MOST_BODY} bytes."),
            ),
            BodyFault::BrokenOff => Fault::bad("InvalidRequestContent", "The body broke off or took too long."),
        })
    }
}

/// The beginning of a text, up to so many bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
