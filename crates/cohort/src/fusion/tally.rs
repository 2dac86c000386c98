//! Counting of votes for labels at one voxel.

/// Shares of the vote that differ by less than this are treated as equal: the difference is rounding.
const TIE: f64 = 1e-6;

/// The votes at one voxel. A voxel has few candidate labels, so a linear search in a list is fast enough.
#[derive(Debug, Default)]
pub(super) struct Tally {
    votes: Vec<(i32, f64)>,
    /// Index of the entry that the last vote went to. Consecutive votes mostly go to one label.
    last: usize,
}

impl Tally {
    /// Removes all votes.
    pub(super) fn clear(&mut self) {
        self.votes.clear();
        self.last = 0;
    }

    /// Adds a vote.
    #[inline]
    pub(super) fn add(&mut self, label: i32, weight: f64) {
        if let Some(entry) = self.votes.get_mut(self.last)
            && entry.0 == label
        {
            entry.1 += weight;
            return;
        }
        match self.votes.iter().position(|entry| entry.0 == label) {
            Some(found) => {
                self.votes[found].1 += weight;
                self.last = found;
            }
            None => {
                self.last = self.votes.len();
                self.votes.push((label, weight));
            }
        }
    }

    /// The label with the most votes; of several with equal votes, the smallest; 0 without any vote.
    pub(super) fn winner(&self) -> i32 {
        let most = self.votes.iter().map(|entry| entry.1).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.votes.iter().map(|entry| entry.1.abs()).sum();
        let tied = self.votes.iter().filter(|entry| entry.1 >= most - TIE * total);
        tied.map(|entry| entry.0).min().unwrap_or(0)
    }

    /// Every label with its share of the vote, at least 0, in ascending order of the labels.
    pub(super) fn shares(&mut self) -> impl Iterator<Item = (i32, f32)> + '_ {
        self.votes.sort_unstable_by_key(|entry| entry.0);
        self.last = 0;
        // Weights may be negative, shares must not be.
        let total: f64 = self.votes.iter().map(|entry| entry.1.max(0.0)).sum();
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        self.votes.iter().map(move |entry| (entry.0, (entry.1.max(0.0) * scale) as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(votes: &[(i32, f64)]) -> Tally {
        let mut tally = Tally::default();
        votes.iter().for_each(|(label, weight)| tally.add(*label, *weight));
        tally
    }

    #[test]
    fn the_most_votes_win_and_ties_go_to_the_smallest_label() {
        assert_eq!(tally(&[]).winner(), 0);
        assert_eq!(tally(&[(7, 1.0), (3, 0.5), (7, 1.0), (3, 1.0)]).winner(), 7);
        assert_eq!(tally(&[(7, 1.0), (3, 1.0), (-2, 0.9)]).winner(), 3);
        // In floating point, 0.1 added three times differs from 0.3.
        assert_eq!(tally(&[(3, 0.1), (9, 0.3), (3, 0.1), (3, 0.1)]).winner(), 3);
        assert_eq!(tally(&[(9, 0.1), (3, 0.3), (9, 0.1), (9, 0.1)]).winner(), 3);
        assert_eq!(tally(&[(5, 2.0), (1, -1.0)]).winner(), 5);
    }

    #[test]
    fn shares_are_never_negative_and_add_up() {
        let mut votes = tally(&[(5, 3.0), (1, -1.0), (2, 1.0)]);
        assert_eq!(votes.shares().collect::<Vec<_>>(), [(1, 0.0), (2, 0.25), (5, 0.75)]);
    }
}
