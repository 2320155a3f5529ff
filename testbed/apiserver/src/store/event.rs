//! What happened to an object.

use super::{Address, Object};

/// The three things that happen to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It came.
    Added,
    /// It changed.
    Modified,
    /// It went.
    Deleted,
}

/// One write, as watches and the housekeeping see it.
#[derive(Debug)]
pub struct Event {
    /// The revision that the write took.
    pub revision: u64,
    /// Whose write it was.
    pub address: Address,
    /// What happened.
    pub change: Change,
    /// The object after the write; for a deletion its last state, under the revision of the deletion.
    pub object: Object,
    /// The object before the write.
    pub previous: Option<Object>,
}
