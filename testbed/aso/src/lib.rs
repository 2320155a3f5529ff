//! A reference of Azure Service Operator's status language for the embedded target.
//!
//! Objects are put into Azure Resource Manager (ARM), and one condition, `Ready` with a severity, says how that goes. A pure
//! function, [`decide::decide`], turns what is known of an object ([`world::Facts`]) and ARM's last answer into the next
//! request, the condition to write and the bookkeeping; [`runtime`] watches, calls it and acts on the outcome. Between the two
//! run four seams; a [`faults::Fault`] sits in one of them, a [`variants::Variant`] does what is left open otherwise, and
//! nothing else knows that they exist.
//!
//! It follows the design document of the status and, where [`settings::Edition::Current`] is chosen, what the operator's source
//! says today. It was never held against the real operator.
//!
//! Where it differs from the real operator, on purpose:
//! - There are no webhooks. What they refuse is refused by rules of the definitions; an `azureName` that is left out counts as the
//!   object's name, and an empty one stands for what the missing webhook would leave.
//! - There is one served version of each kind, and a handful of kinds.

pub mod arm;
pub mod behaviour;
pub mod classify;
pub mod decide;
pub mod definitions;
pub mod faults;
pub mod kinds;
pub mod runtime;
pub mod settings;
pub mod status;
pub mod variants;
pub mod world;

pub use behaviour::Behaviour;
pub use definitions::definitions;
pub use runtime::Aso;
pub use settings::{Edition, Identity, Settings};
