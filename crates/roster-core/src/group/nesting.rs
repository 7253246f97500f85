//! How groups stand within groups, as far as it bears on one that takes others in.
//!
//! An engine walks up from the group and down from those that join it, level by level: level n
//! holds all that some way of n steps leads to. No way is longer than the depth that is allowed,
//! since that always held before; so walks end. How many groups a walk may meet has a limit.

use std::collections::BTreeSet;

use super::GroupId;
use crate::limits::{GROUP_DEPTH_MAX, GROUP_NESTING_MAX};

/// A walk through the groups, level by level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    levels: Vec<BTreeSet<GroupId>>,
    met: usize,
}

/// What is above a group, and what is below those that are to join it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// From the group itself upwards.
    pub above: Levels,
    /// From the groups that join it downwards.
    pub below: Levels,
}

impl Levels {
    /// A walk that begins at these.
    pub fn from(start: BTreeSet<GroupId>) -> Self {
        let met = start.len();
        Self { levels: if start.is_empty() { Vec::new() } else { vec![start] }, met }
    }

    /// From where the next step goes; `None` where the walk ends.
    pub fn front(&self) -> Option<&BTreeSet<GroupId>> {
        let goes_on = self.levels.len() <= GROUP_DEPTH_MAX && !self.is_too_wide();
        self.levels.last().filter(|_| goes_on)
    }

    /// Goes a step on; nothing there ends the walk.
    pub fn step(&mut self, next: BTreeSet<GroupId>) -> bool {
        if next.is_empty() {
            return false;
        }
        self.met += next.len();
        self.levels.push(next);
        true
    }

    /// How many levels there are.
    pub const fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Whether the walk met more groups than may be looked at.
    pub const fn is_too_wide(&self) -> bool {
        self.met > GROUP_NESTING_MAX
    }

    /// Whether the walk met one of these.
    pub fn meet(&self, groups: &BTreeSet<GroupId>) -> bool {
        self.levels.iter().any(|level| !level.is_disjoint(groups))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> GroupId {
        GroupId::from_bytes([n; 16])
    }

    #[test]
    fn a_walk_ends_where_nothing_is() {
        let mut levels = Levels::from(BTreeSet::from([id(1)]));
        assert!(levels.step(BTreeSet::from([id(2), id(3)])));
        assert!(!levels.step(BTreeSet::new()));
        assert_eq!(levels.depth(), 2);
        assert!(levels.meet(&BTreeSet::from([id(3)])) && !levels.meet(&BTreeSet::from([id(4)])));
        assert_eq!(Levels::from(BTreeSet::new()).front(), None);
    }

    #[test]
    fn a_walk_ends_at_its_limits() {
        let mut levels = Levels::from(BTreeSet::from([id(0)]));
        for n in 1..=GROUP_DEPTH_MAX {
            assert!(levels.front().is_some());
            levels.step(BTreeSet::from([id(u8::try_from(n).unwrap())]));
        }
        assert_eq!(levels.front(), None, "deeper than any way may be");
        let many = 0..=u128::try_from(GROUP_NESTING_MAX).unwrap();
        let wide = Levels::from(many.map(|n| GroupId::from_bytes(n.to_be_bytes())).collect());
        assert!(wide.is_too_wide() && wide.front().is_none());
    }
}
