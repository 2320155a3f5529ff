//! Named ways to differ that are legal.

use crate::behaviour::Variant;

/// Every variant.
pub const VARIANTS: &[Variant] = &[];
