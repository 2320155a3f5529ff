//! The verdict as a function of scenario and log. No clock, no I/O.
