//! What the process says to its caller. When several apply, the first of this list wins.

/// Interrupted by the user; everything was cleaned up.
pub const INTERRUPTED: u8 = 130;
/// The command line, a manifest or the configuration is wrong; nothing was applied.
pub const USAGE: u8 = 2;
/// A scenario failed or came late, or a MUST of the contract was broken.
pub const FAILED: u8 = 1;
/// Something could not be tested: the environment, never the target.
pub const INCONCLUSIVE: u8 = 3;
/// Everything selected passed.
pub const PASSED: u8 = 0;
