//! What reference implementations have in common, whichever dialect they speak: a [`object::Snapshot`] of what the cluster has,
//! [`watch`]es that keep it, a way to [`write`] statuses that others write to as well, and
//! tables of what can be made to [behave](behaviour) otherwise.
//!
//! It knows no kind of any dialect: an implementation lists its own with [`kinds!`].

pub mod behaviour;
pub mod object;
pub mod watch;
pub mod write;
