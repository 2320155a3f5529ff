//! The manifest format: what a scenario is. Pure; parsing and linting never touch a target.

mod model;

pub use model::{
    Answer, Apply, BackendDecl, BackendProtocol, Bounds, Channel, Clause, ConditionExpectation, Delete, Ending,
    ExpectationId, FieldExpectation, FieldTest, HeaderTest, Hold, HoldFor, Isolation, Level, ListenerExpectation,
    MessageExpectation, NamespaceDecl, ObjectRef, ParentExpectation, Parents, Patch, PatchKind, Place, Probe,
    ProbeTarget, Refusal, Scenario, Seen, Settle, Share, Step, SubjectExpectation, Verb, Version,
};
