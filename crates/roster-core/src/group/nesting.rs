//! Levels of nested groups around a group that other groups join.
//!
//! An engine walks up from the group and down from the groups that join it, level by level. Level n
//! contains all groups at the end of some path with n steps. No path is longer than the maximum
//! depth, because earlier writes kept that limit, so each walk ends. The number of memberships that
//! a walk may follow is limited too: many groups may contain the same ones.

use std::collections::BTreeSet;

use super::GroupId;
use crate::limits::{GROUP_DEPTH_MAX, GROUP_NESTING_MAX};

/// A walk through the groups, level by level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    levels: Vec<BTreeSet<GroupId>>,
    followed: usize,
}

/// The groups that contain a group, and the groups inside those that join it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// From the group itself upwards.
    pub above: Levels,
    /// From the groups that join it downwards.
    pub below: Levels,
}

impl Levels {
    /// A walk that starts at these groups.
    pub fn from(start: BTreeSet<GroupId>) -> Self {
        let followed = start.len();
        Self { levels: if start.is_empty() { Vec::new() } else { vec![start] }, followed }
    }

    /// The groups of the last level; `None` if the walk ends.
    pub fn front(&self) -> Option<&BTreeSet<GroupId>> {
        let goes_on = self.levels.len() <= GROUP_DEPTH_MAX && !self.is_too_wide();
        self.levels.last().filter(|_| goes_on)
    }

    /// Adds a level: the group at the other end of each membership, so that a group may be there
    /// several times. Returns `false` for an empty one, which ends the walk.
    pub fn step(&mut self, next: Vec<GroupId>) -> bool {
        if next.is_empty() {
            return false;
        }
        self.followed += next.len();
        self.levels.push(next.into_iter().collect());
        true
    }

    /// The number of levels.
    pub const fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Whether the walk followed more memberships than allowed.
    pub const fn is_too_wide(&self) -> bool {
        self.followed > GROUP_NESTING_MAX
    }

    /// Whether the walk visited any of these.
    pub fn contains_any(&self, groups: &BTreeSet<GroupId>) -> bool {
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
    fn an_empty_level_ends_a_walk() {
        let mut levels = Levels::from(BTreeSet::from([id(1)]));
        assert!(levels.step(vec![id(2), id(3), id(2)]));
        assert!(!levels.step(Vec::new()));
        assert_eq!(levels.depth(), 2);
        assert!(levels.contains_any(&BTreeSet::from([id(3)])));
        assert!(!levels.contains_any(&BTreeSet::from([id(4)])));
        assert_eq!(Levels::from(BTreeSet::new()).front(), None);
    }

    #[test]
    fn a_walk_ends_at_its_limits() {
        let mut levels = Levels::from(BTreeSet::from([id(0)]));
        for n in 1..=GROUP_DEPTH_MAX {
            assert!(levels.front().is_some());
            levels.step(vec![id(u8::try_from(n).unwrap())]);
        }
        assert_eq!(levels.front(), None, "deeper than any path may be");
        let many = 0..=u128::try_from(GROUP_NESTING_MAX).unwrap();
        let wide = Levels::from(many.map(|n| GroupId::from_bytes(n.to_be_bytes())).collect());
        assert!(wide.is_too_wide() && wide.front().is_none());
        let mut crossed = Levels::from(BTreeSet::from([id(0)]));
        crossed.step(vec![id(1); GROUP_NESTING_MAX]);
        assert!(crossed.is_too_wide(), "many memberships of one group");
    }
}
