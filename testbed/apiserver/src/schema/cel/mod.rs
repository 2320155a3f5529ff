//! CEL as Kubernetes has it. Rules are compiled on first use. Only [`engine`] knows which implementation is underneath.

mod engine;
mod escape;
mod rule;
mod untyped;

pub(crate) use engine::{Answer, Engine, KubeCel, Scalar};
pub(crate) use escape::escape;
pub(crate) use rule::{Compiled, Rule};
pub(crate) use untyped::{double, untyped};
