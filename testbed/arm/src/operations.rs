//! Operations that take time.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use crate::id::ResourceId;
use crate::script::{OperationKind, OperationRule};

/// How many operations are known at once; the oldest are forgotten for more.
const MOST_OPERATIONS: usize = 4096;

/// The seconds of `Retry-After` while an operation runs, where no rule says another number.
pub(crate) const RETRY_AFTER: u32 = 1;

/// How long an operation still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Polls(u32),
    Until(Timestamp),
}

/// What an operation does to its resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    /// It is created or changed, and then says this of its state.
    Put(String),
    Delete,
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// Where it is followed.
    pub path: String,
    pub resource: ResourceId,
    pub rule: OperationRule,
    pub work: Work,
    pub left: Left,
    pub retry_after: u32,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
}

impl Operation {
    /// Whether its time is over.
    fn is_due(&self, now: Timestamp) -> bool {
        self.ended.is_none() && matches!(self.left, Left::Until(end) if end <= now)
    }

    /// Counts a poll. True if this one finds it at its end.
    fn counts_to_end(&mut self) -> bool {
        match &mut self.left {
            _ if self.ended.is_some() => false,
            Left::Polls(0) => true,
            Left::Polls(left) => {
                *left -= 1;
                false
            }
            Left::Until(_) => false,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Operations {
    by_number: BTreeMap<u64, Operation>,
    by_path: HashMap<String, u64>,
    count: u64,
}

impl Operations {
    /// Begins one, and gives its number.
    pub fn begin(&mut self, now: Timestamp, resource: &ResourceId, work: Work, how: (OperationRule, Left, u32)) -> u64 {
        self.count += 1;
        let number = self.count;
        let (rule, left, retry_after) = how;
        let path = format!("{resource}/operations/{number}");
        self.by_path.insert(path.to_lowercase(), number);
        let resource = resource.clone();
        let operation = Operation { path, resource, rule, work, left, retry_after, started: now, ended: None };
        self.by_number.insert(number, operation);
        if self.by_number.len() > MOST_OPERATIONS
            && let Some((_, oldest)) = self.by_number.pop_first()
        {
            self.by_path.remove(&oldest.path.to_lowercase());
        }
        number
    }

    pub fn get(&self, number: u64) -> Option<&Operation> {
        self.by_number.get(&number)
    }

    /// The operation that is followed at a path.
    pub fn at(&self, path: &str) -> Option<u64> {
        self.by_path.get(&path.to_lowercase()).copied()
    }

    /// Ends what is due, and tells what ended in the order of its beginning.
    pub fn due(&mut self, now: Timestamp) -> Vec<(u64, Operation)> {
        let mut due = Vec::new();
        for (number, operation) in &mut self.by_number {
            if operation.is_due(now) {
                operation.ended = Some(now);
                due.push((*number, operation.clone()));
            }
        }
        due
    }

    /// Counts a poll, and tells the operation if that ended it.
    pub fn poll(&mut self, now: Timestamp, number: u64) -> Option<Operation> {
        let operation = self.by_number.get_mut(&number)?;
        operation.counts_to_end().then(|| {
            operation.ended = Some(now);
            operation.clone()
        })
    }
}

/// The word for an operation under way, which a resource says of itself too.
pub(crate) fn running(work: &Work, is_new: bool) -> &'static str {
    match work {
        Work::Delete => "Deleting",
        Work::Put(_) if is_new => "Creating",
        Work::Put(_) => "Updating",
    }
}

/// Whether the client is told where to follow the operation.
pub(crate) fn is_followed(kind: OperationKind) -> bool {
    kind != OperationKind::ProvisioningState
}
