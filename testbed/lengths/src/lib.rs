//! What a request of HTTP/1.1 says of its length where that contradicts itself, or where it is said beside chunks. The server that
//! reads it would refuse it, or forget a part of what it says, before anybody is asked; so what it cannot go by gets another name on
//! its way in ([`Heads`]), under which it is found afterwards ([`Wrong`], [`tell`]).

mod head;
mod heads;
mod place;
mod wrong;

pub use heads::Heads;
pub use wrong::{ASIDE, Wrong, tell};
