//! What is demanded of every target, whether a manifest says so or not.

use std::sync::Arc;

use serde::Deserialize;

/// A demand that no manifest makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implied {
    /// What a status says is about the current generation.
    Fresh,
    /// The status has one entry for each parent or ancestor, and no other.
    Entries,
    /// An entry that is left over from an earlier spec is taken away.
    LeftOver,
    /// The status has an entry for each listener.
    Listeners,
    /// What traffic comes in by comes to be programmed,
    Programmed,
    /// and says whether it is.
    SaysProgrammed,
    /// Conditions that follow from configuration alone do not come and go.
    DoNotFlap,
    /// The data path stays as it is.
    Stays,
    /// It answers at once, after a while without a request too.
    Again,
    /// Nothing is changed of a request on its way but by what the manifest says.
    Forwarded,
    /// A `Location` leaves out the port that its scheme has anyway.
    DefaultPort,
}

impl Implied {
    /// All of them.
    pub const ALL: [Implied; 11] = [
        Implied::Fresh,
        Implied::Entries,
        Implied::LeftOver,
        Implied::Listeners,
        Implied::Programmed,
        Implied::SaysProgrammed,
        Implied::DoNotFlap,
        Implied::Stays,
        Implied::Again,
        Implied::Forwarded,
        Implied::DefaultPort,
    ];

    /// As a dialect writes it.
    pub fn name(self) -> &'static str {
        match self {
            Implied::Fresh => "fresh",
            Implied::Entries => "entries",
            Implied::LeftOver => "leftOver",
            Implied::Listeners => "listeners",
            Implied::Programmed => "programmed",
            Implied::SaysProgrammed => "saysProgrammed",
            Implied::DoNotFlap => "doNotFlap",
            Implied::Stays => "stays",
            Implied::Again => "again",
            Implied::Forwarded => "forwarded",
            Implied::DefaultPort => "defaultPort",
        }
    }
}

/// The clauses of a dialect behind each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct ImpliedClauses {
    fresh: Vec<Arc<str>>,
    entries: Vec<Arc<str>>,
    left_over: Vec<Arc<str>>,
    listeners: Vec<Arc<str>>,
    programmed: Vec<Arc<str>>,
    says_programmed: Vec<Arc<str>>,
    do_not_flap: Vec<Arc<str>>,
    stays: Vec<Arc<str>>,
    again: Vec<Arc<str>>,
    forwarded: Vec<Arc<str>>,
    default_port: Vec<Arc<str>>,
}

impl ImpliedClauses {
    pub(super) fn of(&self, implied: Implied) -> &[Arc<str>] {
        match implied {
            Implied::Fresh => &self.fresh,
            Implied::Entries => &self.entries,
            Implied::LeftOver => &self.left_over,
            Implied::Listeners => &self.listeners,
            Implied::Programmed => &self.programmed,
            Implied::SaysProgrammed => &self.says_programmed,
            Implied::DoNotFlap => &self.do_not_flap,
            Implied::Stays => &self.stays,
            Implied::Again => &self.again,
            Implied::Forwarded => &self.forwarded,
            Implied::DefaultPort => &self.default_port,
        }
    }
}
