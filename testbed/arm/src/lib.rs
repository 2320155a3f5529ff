//! A fake Azure Resource Manager on loopback: it keeps resources, answers as scripts say, and logs what it was asked.
//!
//! [`Arm`] is the server, [`Core`] the same without sockets and clocks. It speaks for one subscription and knows nothing of
//! what the resources mean. Ids are read without regard to case; a resource keeps the id under which it was created.
//!
//! # Without a script
//!
//! `/subscriptions/S/resourceGroups/G[/providers/NS/TYPE/NAME[/TYPE/NAME…]]?api-version=…` takes
//! - PUT: 201 for a new resource, 200 for one that is there, with what was put, id, name, type and
//!   `properties.provisioningState`. Group and parents must exist (`ResourceGroupNotFound`, `ParentResourceNotFound`);
//! - GET: 200, or 404 (`ResourceGroupNotFound`, `ResourceNotFound`); HEAD: 204 or 404;
//! - DELETE: 200 with all that is in the resource, or 204 if it is not there; 404 if its group is not;
//! - POST of `…/storageAccounts/NAME/listKeys`: two keys, others for each account.
//!
//! What is refused is answered with `{"error": {"code", "message"}}`. Requests need a bearer token of
//! `GET /token?api-version=…&resource=…` (header `X-IDENTITY-HEADER`) for the server's own URL, or are answered with 401.
//!
//! # Scripts
//!
//! `PUT /control/scripts/KEY` puts a script in force or replaces it, `DELETE` takes it away. Both need the control token as
//! bearer token, and so does the log. Of all rules that match a request and are not used up, the first one counts: older
//! scripts come first, in each the rules in their order. A rule that says nothing leaves the answer as it is, and so lets a
//! number of requests pass. Fields are described at [`Rule`], [`OperationRule`] and [`Behind`]; others are errors.
//!
//! ```json
//! {"rules": [
//!   {"method": "PUT", "path": "**/storageAccounts/a*", "times": 2, "status": 429, "code": "TooManyRequests", "retryAfter": 1},
//!   {"method": "PUT", "path": "**/storageAccounts/a*", "operation":
//!     {"kind": "azure-async", "polls": 3, "end": "Failed", "code": "SkuNotAvailable", "message": "not here"}},
//!   {"method": "GET", "path": "**/operations/*", "delay": 0.5},
//!   {"path": "/subscriptions/*/resourceGroups/g", "times": 1, "behind": "delete"},
//!   {"method": "GET", "path": "**/b", "times": 1, "behind": {"change": {"tags": {"by": "others"}}}}
//! ]}
//! ```
//!
//! An error has a code, a message, both, or neither and then no body. Operations are followed at
//! `ID-OF-THE-RESOURCE/operations/NUMBER`, under rules as everything else: a rule for a poll that refuses it does not count as a
//! poll. Until an operation ends, its resource says `Creating`, `Updating` or `Deleting`; one that fails or is canceled leaves
//! the resource with `Failed` or `Canceled`. A later request for the resource takes over from an operation that still runs.
//!
//! # The log
//!
//! `GET /control/requests?after=SEQ` answers `{"requests": […], "next": …, "dropped": …}` with the requests to ARM whose
//! numbers are greater than SEQ, as [`LoggedRequest`]s. `next` is the number that the next request gets, so whoever has read
//! the answer goes on with `after` one less. Of bodies it tells what is asked for and nothing else: each `body=POINTER` of the query
//! is a JSON pointer to a value, each `digest=POINTER` one to a value of which no more than its SHA-256 is told, such as a secret.

mod answer;
mod book;
mod control;
mod core;
pub mod id;
mod log;
mod manage;
mod operations;
mod options;
mod resources;
pub mod script;
mod server;
mod tls;
mod tokens;

pub use crate::core::{BodyFault, Core, Request};
pub use answer::Answer;
pub use log::{LogPage, LogTamper, LoggedRequest, Meant, Wanted};
pub use options::ArmOptions;
pub use script::{Behind, OperationRule, Rule, Script, ScriptError};
pub use server::{Arm, ArmError};
pub use tls::TlsError;

/// How many bytes a body may have.
pub const MOST_BODY: usize = 256 * 1024;

/// How many bytes path and query of a request may have together.
pub const LONGEST_PATH: usize = 4096;
