//! A reference implementation of Contour's HTTPProxy for the embedded target.

mod definitions;

pub use definitions::definitions;
