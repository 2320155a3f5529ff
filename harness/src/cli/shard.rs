//! `--shard PART/PARTS`: one of several parts of something, for one of several machines.

use std::fmt;
use std::str::FromStr;

/// One of several parts of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// From 1.
    pub(crate) part: usize,
    /// How many there are.
    pub(crate) parts: usize,
}

/// Stands for the number that a Pod of an indexed Job has, in an image that has no shell to count.
const OF_JOB: &str = "job";
const OF_JOB_FROM_0: &str = "JOB_COMPLETION_INDEX";

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let number = |part: &str| match part {
            OF_JOB => std::env::var(OF_JOB_FROM_0).ok()?.parse::<usize>().ok()?.checked_add(1),
            part => part.parse().ok(),
        };
        let numbers = text.split_once('/').and_then(|(part, parts)| Some((number(part)?, parts.parse().ok()?)));
        match numbers {
            Some((part, parts)) if 1 <= part && part <= parts => Ok(Shard { part, parts }),
            None if text.starts_with(OF_JOB) => {
                Err(format!("`{text}` needs {OF_JOB_FROM_0}, as Pods of indexed Jobs have it"))
            }
            _ => Err(format!("`{text}` is no part of several, such as 2/4")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

impl Shard {
    /// What is of this part: each one of so many, so that neighbours, which take about as long, are in different parts.
    pub(crate) fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.part - 1).step_by(self.parts).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0/4")]
    #[case("5/4")]
    #[case("1/0")]
    #[case("2")]
    #[case("a/b")]
    #[case("-1/4")]
    fn what_is_no_part_is_told(#[case] text: &str) {
        assert!(text.parse::<Shard>().unwrap_err().starts_with(&format!("`{text}` is no part")));
    }

    #[test]
    fn all_parts_are_the_whole() {
        let all: Vec<usize> = (0..10).collect();
        let parts = (1..=4).map(|part| Shard { part, parts: 4 }.of(all.clone()));
        let mut together: Vec<usize> = parts.flatten().collect();
        together.sort_unstable();
        assert_eq!(together, all);
        assert_eq!("1/1".parse::<Shard>().unwrap().of(all.clone()), all);
    }
}
