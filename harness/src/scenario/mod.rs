//! The manifest format: what a scenario is. Pure but for reading files; parsing and linting never touch a target.

pub mod bind;
mod diagnostic;
pub mod expectations;
mod grpc;
pub mod hosts;
mod kinds;
pub mod known;
mod line;
pub mod lint;
pub mod load;
pub mod model;
pub mod objects;
mod outline;
mod parentless;
mod parse;
pub mod pattern;
pub mod pointer;
pub mod schema;
pub mod scope;
pub mod select;
mod sessions;
mod silence;
mod suite;
pub mod template;
mod vocabulary;
mod witness;

pub use bind::bind;
pub use diagnostic::Diagnostic;
#[cfg(any(test, fuzzing))]
pub(crate) use diagnostic::lines;
pub use grpc::GrpcCode;
pub(crate) use line::{line_of, nearest};
pub use model::{
    Answer, ApiVersion, Apply, BackendDecl, BackendProtocol, Basis, BelowExpectation, BodyExpectation, Bounds, Branch,
    CLEAR_TEXT, Carried, CertificateDecl, Channel, Clause, ConditionExpectation, Delete, Ending, ExpectationId,
    FieldExpectation, FieldTest, Gap, HeaderTest, Hold, HoldFor, Isolation, Level, ListenerExpectation, MadeFor,
    MadeObject, MessageExpectation, NO_CERTIFICATE, NamespaceDecl, Noted, ObjectRef, ParentExpectation, Parents, Patch,
    PatchKind, Place, Probe, ProbeTarget, Refusal, Release, Requests, Scenario, Script, Seen, Settle, Share, Since,
    Step, SubCondition, SubjectExpectation, Times, Verb, Version,
};
pub(crate) use outline::{Outline, outlines};
pub use parse::parse;
pub(crate) use suite::suite_of;
pub use vocabulary::{Vocabulary, suggest};
