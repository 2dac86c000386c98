//! Counts weighted votes for labels at one voxel.

/// Two sums of votes are treated as equal if they differ by less than this share of all votes. Such a difference is
/// rounding.
const TIE: f64 = 1e-6;

/// The sum of votes for each label at one voxel. A voxel has few candidate labels, so a linear search in a list is fast
/// enough.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    votes: Vec<(i32, f64)>,
}

impl Tally {
    /// Removes all votes, for the next voxel.
    pub(super) fn clear(&mut self) {
        self.votes.clear();
    }

    /// Adds a vote.
    pub(super) fn add(&mut self, label: i32, weight: f64) {
        let entry = self.entry(label);
        self.votes[entry].1 += weight;
    }

    /// The index of a label in the list. A label that is not in the list is appended, with 0 votes.
    #[inline]
    fn entry(&mut self, label: i32) -> usize {
        self.votes.iter().position(|entry| entry.0 == label).unwrap_or_else(|| {
            self.votes.push((label, 0.0));
            self.votes.len() - 1
        })
    }

    /// The label with the most votes. With equal votes, the smallest of these labels; 0 if there are no votes.
    pub(super) fn winner(&self) -> i32 {
        let most = self.votes.iter().map(|entry| entry.1).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.votes.iter().map(|entry| entry.1.abs()).sum();
        let tied = self.votes.iter().filter(|entry| entry.1 >= most - TIE * total);
        tied.map(|entry| entry.0).min().unwrap_or(0)
    }

    /// Every label with its share of the positive votes, 0 to 1, in ascending order of the labels.
    pub(super) fn shares(&mut self) -> impl Iterator<Item = (i32, f32)> + '_ {
        self.votes.sort_unstable_by_key(|entry| entry.0);
        // The sum of votes for a label may be negative, but its share must not be.
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
        // The votes are equal except for rounding: in floating point, 0.1 added three times differs from 0.3.
        assert_eq!(tally(&[(3, 0.1), (9, 0.3), (3, 0.1), (3, 0.1)]).winner(), 3);
        assert_eq!(tally(&[(9, 0.1), (3, 0.3), (9, 0.1), (9, 0.1)]).winner(), 3);
        assert_eq!(tally(&[(5, 2.0), (1, -1.0)]).winner(), 5);
    }

    #[test]
    fn what_counts_as_rounding_depends_on_the_sum_of_votes() {
        // The votes for the two labels differ by a tenth of the limit and by ten times the limit.
        for total in [1e-3, 1.0, 1e3] {
            let winner = |share: f64| tally(&[(3, 0.5 * total), (9, (0.5 + share) * total)]).winner();
            assert_eq!([1e-7, 1e-5].map(winner), [3, 9], "{total}");
        }
    }

    #[test]
    fn shares_are_never_negative_and_add_up() {
        let mut votes = tally(&[(5, 3.0), (1, -1.0), (2, 1.0)]);
        assert_eq!(votes.shares().collect::<Vec<_>>(), [(1, 0.0), (2, 0.25), (5, 0.75)]);
        // No label has a positive sum of votes.
        let mut votes = tally(&[(5, 0.0), (1, -1.0)]);
        assert_eq!(votes.shares().collect::<Vec<_>>(), [(1, 0.0), (5, 0.0)]);
    }
}
