//! `x-kubernetes-validations`: the rules of schema nodes, evaluated on an object.
//!
//! The walk over the object is ours, so that transition rules see the old item of a list
//! that is a map, unchanged values are not held against a rule that came later, and paths are spelled as the API server
//! spells them.
//!
//! What remains different from the API server, all of it refusing or accepting only rules that Gateway API does not have
//! (see the tests in `divergence.rs`):
//!
//! - rules are not type checked when they are compiled, so a misspelt field shows as an evaluation error;
//! - errors inside `exists` and `all` are not absorbed by a later item that decides the answer;
//! - no `type()`, no optional index `[?k]`, no `cel.bind`, no two-variable comprehensions: such a rule refuses the object;
//! - an int never equals a double;
//! - lists of type set and map compare with order, and `+` on them appends;
//! - there is no cost budget.

mod convert;
mod divergence;
mod walk;

pub(crate) use walk::check;
