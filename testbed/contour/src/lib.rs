//! A reference implementation of Contour's HTTPProxy for the embedded target.
//!
//! It follows source that was read. A pure function, [`reconcile::reconcile`], turns a snapshot into a verdict for every object and into
//! the hosts that are served; [`runtime`] watches, calls it and acts. Faults and variants sit in the seams that [`seam`] has, and nothing
//! else knows of them.

pub mod api;
pub mod behaviour;
mod definitions;
mod design;
pub mod exchange;
mod faults;
pub mod gate;
pub mod kinds;
pub mod reconcile;
pub mod runtime;
pub mod seam;
pub mod settings;
pub mod status;
mod variants;

pub use behaviour::Behaviour;
pub use definitions::definitions;
pub use faults::FAULTS;
pub use runtime::Contour;
pub use settings::{Edition, Settings};
pub use variants::VARIANTS;
