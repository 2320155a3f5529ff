//! The rules by name.

/// A rule of the status contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say what the contract's data file explains")]
pub enum Rule {
    UniqueType,
    TriState,
    ReasonForm,
    ReasonCamelCase,
    TypeForm,
    MessagePresent,
    MessageExplains,
    ObservedGenerationPresent,
    ObservedGenerationNotAhead,
    ObservedGenerationNotBackwards,
    ObservedGenerationCurrent,
    TransitionTimeMoves,
    TransitionTimeStays,
    TransitionTimeNotBackwards,
    AlwaysFromFirstWrite,
    AlwaysPresent,
    SupportedVersionPresent,
    NegativeOnlyWhileTrue,
    ReasonListed,
    ReasonClosed,
    TypeRetired,
    TypePrefixed,
    ForeignPreserved,
    ForeignOrder,
    ForeignEntriesPreserved,
    EntryUnique,
    ControllerNameForm,
    ListenersComplete,
    ProgrammedAfterAccepted,
    CountPresent,
    Quiescent,
    Sorted,
    ObjectsUntouched,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 33] = [
        Rule::UniqueType,
        Rule::TriState,
        Rule::ReasonForm,
        Rule::ReasonCamelCase,
        Rule::TypeForm,
        Rule::MessagePresent,
        Rule::MessageExplains,
        Rule::ObservedGenerationPresent,
        Rule::ObservedGenerationNotAhead,
        Rule::ObservedGenerationNotBackwards,
        Rule::ObservedGenerationCurrent,
        Rule::TransitionTimeMoves,
        Rule::TransitionTimeStays,
        Rule::TransitionTimeNotBackwards,
        Rule::AlwaysFromFirstWrite,
        Rule::AlwaysPresent,
        Rule::SupportedVersionPresent,
        Rule::NegativeOnlyWhileTrue,
        Rule::ReasonListed,
        Rule::ReasonClosed,
        Rule::TypeRetired,
        Rule::TypePrefixed,
        Rule::ForeignPreserved,
        Rule::ForeignOrder,
        Rule::ForeignEntriesPreserved,
        Rule::EntryUnique,
        Rule::ControllerNameForm,
        Rule::ListenersComplete,
        Rule::ProgrammedAfterAccepted,
        Rule::CountPresent,
        Rule::Quiescent,
        Rule::Sorted,
        Rule::ObjectsUntouched,
    ];

    /// The stable name, as in `contract/<kind>/<name>`.
    pub fn name(self) -> &'static str {
        match self {
            Rule::UniqueType => "unique-type",
            Rule::TriState => "tri-state",
            Rule::ReasonForm => "reason-form",
            Rule::ReasonCamelCase => "reason-camel-case",
            Rule::TypeForm => "type-form",
            Rule::MessagePresent => "message-present",
            Rule::MessageExplains => "message-explains",
            Rule::ObservedGenerationPresent => "observed-generation-present",
            Rule::ObservedGenerationNotAhead => "observed-generation-not-ahead",
            Rule::ObservedGenerationNotBackwards => "observed-generation-not-backwards",
            Rule::ObservedGenerationCurrent => "observed-generation-current",
            Rule::TransitionTimeMoves => "transition-time-moves",
            Rule::TransitionTimeStays => "transition-time-stays",
            Rule::TransitionTimeNotBackwards => "transition-time-not-backwards",
            Rule::AlwaysFromFirstWrite => "always-from-first-write",
            Rule::AlwaysPresent => "always-present",
            Rule::SupportedVersionPresent => "supported-version-present",
            Rule::NegativeOnlyWhileTrue => "negative-only-while-true",
            Rule::ReasonListed => "reason-listed",
            Rule::ReasonClosed => "reason-closed",
            Rule::TypeRetired => "type-retired",
            Rule::TypePrefixed => "type-prefixed",
            Rule::ForeignPreserved => "foreign-preserved",
            Rule::ForeignOrder => "foreign-order",
            Rule::ForeignEntriesPreserved => "foreign-entries-preserved",
            Rule::EntryUnique => "entry-unique",
            Rule::ControllerNameForm => "controller-name-form",
            Rule::ListenersComplete => "listeners-complete",
            Rule::ProgrammedAfterAccepted => "programmed-after-accepted",
            Rule::CountPresent => "count-present",
            Rule::Quiescent => "quiescent",
            Rule::Sorted => "sorted",
            Rule::ObjectsUntouched => "objects-untouched",
        }
    }

    /// The rule of a name.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }
}
