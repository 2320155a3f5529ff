//! The server as clients see it, over TLS and within the process.

mod housekeeping;
mod identity;
mod lists;
mod objects;
mod pods;
mod policies;
mod protocol;
mod schemas;
mod support;
mod watches;
