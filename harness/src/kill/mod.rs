//! The kill matrix: proof that every check can fail, and that each fails for the reason that it names.
//!
//! All of this is about the reference of one dialect, which has a table of its own. Under a fault, every first failure of a scenario
//! carries a clause that the fault declares, and the expectations that the table names for the fault fail first and carry all of its clauses. On the plain reference nothing fails. A *narrow* fault makes at most a
//! tenth of the scenarios fail. Every expectation is the sole failure of its scenario under a narrow fault, a named or a
//! pinpoint one, or is a hole. Beside the faults, every asserted value is negated once, and the plain reference must then
//! fail; and on no legal variant anything may.

mod complaint;
mod drive;
mod inversion;
mod matrix;
mod pin;
mod pinpoint;
mod plan;
mod recorded;
mod shown_by;
mod table;
mod touched_by;
mod trial;
mod variants;

pub use complaint::Complaint;
pub use drive::{binding_expectations, drive, faults_named};
pub use inversion::{invert_all, negated};
pub use matrix::{BrokenRule, FaultRun, FirstFailure, Matrix, Row, ScenarioRun, share_of};
pub use pinpoint::{pin_all, pinned};
pub use plan::{Extent, Plan, Watcher};
pub use recorded::{add_rules, record};
pub use shown_by::{Showing, ShownBy, printed_by};
pub use table::{Change, NoTable, Seen, Table, seen};
pub use touched_by::TouchedBy;
pub use trial::{Proof, Survivor, Trial};
pub use variants::{Blamed, Varied, vary};
