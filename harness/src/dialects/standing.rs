//! Where conditions stand in a status: the one place that knows the fields of the lists.

use serde::Deserialize;

/// Where the conditions of a kind stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// In `status.conditions`.
    #[default]
    Object,
    /// In `status.parents`, for each parent and controller.
    Parents,
    /// In `status.ancestors`, for each ancestor and controller, unless in `status.conditions`.
    Ancestors,
    /// Wherever an object has them: of a kind that no dialect knows.
    #[serde(skip)]
    Shown,
}

impl Standing {
    /// The list of entries that have them, each of one controller, if they stand in entries.
    pub(super) fn entries(self) -> Option<&'static str> {
        match self {
            Standing::Parents => Some(StatusList::Parents.field()),
            Standing::Ancestors => Some(StatusList::Ancestors.field()),
            Standing::Object | Standing::Shown => None,
        }
    }

    /// The lists in which they may be.
    pub fn lists(self) -> &'static [StatusList] {
        match self {
            Standing::Object => &[StatusList::Object],
            Standing::Parents => &[StatusList::Parents],
            Standing::Ancestors => &[StatusList::Object, StatusList::Ancestors],
            Standing::Shown => &[StatusList::Object, StatusList::Parents, StatusList::Ancestors],
        }
    }
}

/// A list in a status: of conditions, or of entries that have a list of them each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StatusList {
    /// `status.conditions`.
    Object,
    /// `status.listeners[].conditions`, keyed by name.
    Listeners,
    /// `status.parents[].conditions`, keyed by parentRef and controllerName.
    Parents,
    /// `status.ancestors[].conditions`, keyed by ancestorRef and controllerName.
    Ancestors,
}

impl StatusList {
    /// The field of the status.
    pub fn field(self) -> &'static str {
        match self {
            StatusList::Object => "conditions",
            StatusList::Listeners => "listeners",
            StatusList::Parents => "parents",
            StatusList::Ancestors => "ancestors",
        }
    }

    /// JSON pointer to it.
    pub fn pointer(self) -> String {
        format!("/status/{}", self.field())
    }

    /// JSON pointer to the conditions; to those of the first entry, where entries have them.
    pub fn conditions(self) -> String {
        match self {
            StatusList::Object => self.pointer(),
            StatusList::Listeners | StatusList::Parents | StatusList::Ancestors => {
                format!("{}/0/conditions", self.pointer())
            }
        }
    }

    /// JSON pointer to the first of those conditions.
    pub fn condition(self) -> String {
        format!("{}/0", self.conditions())
    }
}
