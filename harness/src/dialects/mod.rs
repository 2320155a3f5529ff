//! Dialects: status languages, each as data. A dialect says which kinds there are, and what a run takes them for; nobody else names
//! a kind of one.

mod changes;
mod data;
mod edition;
mod entries;
mod error;
mod feature;
mod foreign;
mod groups;
mod guarded;
mod implied;
mod kind;
mod makes;
mod profile;
mod protocol;
mod reference;
mod releases;
mod standing;

pub use changes::Change;
pub use data::{Dialect, FallsBack};
pub use edition::Edition;
pub use entries::{Addresses, Entries, Entry};
pub use error::DialectError;
pub use feature::DialectFeature;
pub use foreign::{dialect_of, has_both, is_borrowed, kinds_in};
pub use groups::is_of_kubernetes;
pub use guarded::{Guarded, guarding, unguarded_by};
pub use implied::Implied;
pub use kind::{DialectKind, Generation, Role, Scope, Settles};
pub use makes::{MadeKind, Makes};
pub use profile::Profile;
pub use protocol::Protocol;
pub use reference::Reference;
pub use releases::{Minor, Releases, Span};
pub use standing::{Standing, StatusList};
