//! Overlap of two label maps, label by label, with the measures of ANTs' `LabelOverlapMeasures`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::LabelVolume;
use crate::same_grid::{GridMismatch, same_grid};

/// Voxel counts of one label in two label maps, or sums of such counts over several labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of voxels with the label in the evaluated map.
    pub source: u64,
    /// Number of voxels with the label in the true map.
    pub target: u64,
    /// Number of voxels with the label in both maps.
    pub both: u64,
    /// Number of voxels with the label in neither map.
    pub neither: u64,
}

impl Counts {
    /// Share of the voxels with the label in the true map (target) that have the label in the evaluated map (source),
    /// too: both/target. The names in the formula are those of the fields of [`Counts`].
    pub fn target_overlap(&self) -> f64 {
        self.both as f64 / self.target as f64
    }

    /// Jaccard index, from the numbers of voxels with the label in the evaluated map (source), the true map (target)
    /// and both: both / (source + target − both).
    pub fn jaccard(&self) -> f64 {
        self.both as f64 / (self.source + self.target - self.both) as f64
    }

    /// Dice coefficient, from the numbers of voxels with the label in the evaluated map (source), the true map (target)
    /// and both: 2·both / (source + target).
    pub fn dice(&self) -> f64 {
        2.0 * self.both as f64 / (self.source + self.target) as f64
    }

    /// Volume similarity, 2·(source − target)/(source + target), from the numbers of voxels with the label in the
    /// evaluated map (source) and in the true map (target). It is positive if the label has more voxels in the
    /// evaluated map.
    pub fn volume_similarity(&self) -> f64 {
        let (source, target) = (self.source as f64, self.target as f64);
        2.0 * (source - target) / (source + target)
    }

    /// Share of the voxels with the label in the true map (target) that do not have the label in the evaluated map:
    /// (target − both)/target. Here `both` is the number of voxels with the label in both maps.
    pub fn false_negative(&self) -> f64 {
        (self.target - self.both) as f64 / self.target as f64
    }

    /// Share of the voxels without the label in the true map that have the label in the evaluated map (source): (source
    /// − both)/(source − both + neither), as in ITK since 5.3. Here `both` and `neither` are the numbers of voxels with
    /// the label in both maps and in neither map. Older versions of ITK divide by the number of voxels with the label
    /// in the evaluated map.
    pub fn false_positive(&self) -> f64 {
        let wrong = self.source - self.both;
        wrong as f64 / (wrong + self.neither) as f64
    }

    /// The six overlap measures of a label, in the order of the columns of the CSV table. A measure whose denominator
    /// is zero is NaN (ANTs prints 1.79769e+308 there).
    pub fn measures(&self) -> [f64; 6] {
        [
            self.target_overlap(),
            self.jaccard(),
            self.dice(),
            self.volume_similarity(),
            self.false_negative(),
            self.false_positive(),
        ]
    }

    fn add(&mut self, other: &Counts) {
        self.source += other.source;
        self.target += other.target;
        self.both += other.both;
        self.neither += other.neither;
    }
}

/// The overlap of two label maps. Background (0) is never counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlap {
    /// The counts of each label, sorted by label. The labels are all that occur in either map, or all requested
    /// labels.
    pub labels: Vec<(i32, Counts)>,
}

/// Header line of [`Overlap::to_csv`], with the column names of ANTs.
pub const CSV_HEADER: &str = "Label,Total/Target,Jaccard,Dice,VolumeSimilarity,FalseNegative,FalsePositive";

impl Overlap {
    /// Compares `source` (the map to evaluate) with `target` (the truth). The labels compared are those in `only`, or
    /// all labels that occur in either map.
    pub fn between(
        source: &LabelVolume,
        target: &LabelVolume,
        only: Option<&[i32]>,
    ) -> Result<Overlap, GridMismatch> {
        same_grid("the label maps", &source.grid, &target.grid)?;
        let mut table: BTreeMap<i32, Counts> = BTreeMap::new();
        let mut count = |pair: (i32, i32), voxels: u64| {
            table.entry(pair.0).or_default().source += voxels;
            table.entry(pair.1).or_default().target += voxels;
            if pair.0 == pair.1 {
                table.entry(pair.0).or_default().both += voxels;
            }
        };
        // Each voxel has a pair of labels, one from each map, and neighbouring voxels mostly have the same pair. So
        // successive voxels with equal pairs are counted, and the table is updated once for all of them.
        let mut run = ((0, 0), 0);
        for pair in source.voxels.iter().copied().zip(target.voxels.iter().copied()) {
            if pair != run.0 {
                count(run.0, run.1);
                run = (pair, 0);
            }
            run.1 += 1;
        }
        count(run.0, run.1);
        table.remove(&0);
        if let Some(only) = only {
            table.retain(|label, _| only.contains(label));
            for label in only.iter().filter(|label| **label != 0) {
                table.entry(*label).or_default();
            }
        }
        for counts in table.values_mut() {
            counts.neither = source.voxels.len() as u64 - (counts.source + counts.target - counts.both);
        }
        Ok(Overlap { labels: table.into_iter().collect() })
    }

    /// The sums of the counts over all labels, for ANTs' row `All`.
    pub fn all(&self) -> Counts {
        self.labels.iter().fold(Counts::default(), |mut sum, (_, counts)| {
            sum.add(counts);
            sum
        })
    }

    /// The mean of each overlap measure, such as Dice, over the labels for which the measure is defined.
    pub fn mean(&self) -> [f64; 6] {
        let mut sums = [(0.0, 0u32); 6];
        for (_, counts) in &self.labels {
            for (sum, value) in sums.iter_mut().zip(counts.measures()) {
                if value.is_finite() {
                    *sum = (sum.0 + value, sum.1 + 1);
                }
            }
        }
        sums.map(|(sum, labels)| sum / f64::from(labels))
    }

    /// Formats the overlap as CSV like ANTs' `LabelOverlapMeasures`: a header line, the row `All`, and a row for each
    /// label.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from(CSV_HEADER);
        let mut row = |name: &str, measures: [f64; 6]| {
            csv.push('\n');
            csv.push_str(name);
            for value in measures {
                // Writing to a `String` cannot fail.
                let _ = write!(csv, ",{value:.6}");
            }
        };
        row("All", self.all().measures());
        for (label, counts) in &self.labels {
            row(&label.to_string(), counts.measures());
        }
        csv.push('\n');
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    fn labels(voxels: &[i32]) -> LabelVolume {
        LabelVolume { grid: Grid::axis_aligned([voxels.len(), 1, 1], [1.0; 3]), voxels: voxels.to_vec() }
    }

    fn naive(source: &[i32], target: &[i32], label: i32) -> Counts {
        let mut counts = Counts::default();
        for (s, t) in source.iter().zip(target) {
            match (*s == label, *t == label) {
                (true, true) => counts.both += 1,
                (false, false) => counts.neither += 1,
                _ => {}
            }
            counts.source += u64::from(*s == label);
            counts.target += u64::from(*t == label);
        }
        counts
    }

    #[test]
    fn counts_like_one_pass_per_label() {
        // Makes a label map for the tests, in which equal labels (−1 to 4) follow each other in short and in long
        // series.
        let noise = |seed: u64| -> Vec<i32> {
            (0..500u64).map(|n| ((n / 3 * (n / 7 + seed) + seed) * 2654435761 % 97 % 6) as i32 - 1).collect()
        };
        let (source, target) = (noise(1), noise(5));
        let overlap = Overlap::between(&labels(&source), &labels(&target), None).unwrap();
        assert_eq!(overlap.labels.iter().map(|(label, _)| *label).collect::<Vec<_>>(), [-1, 1, 2, 3, 4]);
        for (label, counts) in &overlap.labels {
            assert_eq!(*counts, naive(&source, &target, *label), "label {label}");
        }
    }

    /// The values that ANTs' `LabelOverlapMeasures` (ITK 5.4) reports for these maps.
    #[test]
    fn measures_are_those_of_ants() {
        let source = [1, 1, 1, 2, 2, 0, 0, 0, 3, 3];
        let target = [1, 1, 0, 2, 1, 2, 2, 0, 0, 0];
        let overlap = Overlap::between(&labels(&source), &labels(&target), None).unwrap();
        let csv = overlap.to_csv();
        let expected = "\
Label,Total/Target,Jaccard,Dice,VolumeSimilarity,FalseNegative,FalsePositive
All,0.500000,0.300000,0.461538,0.153846,0.500000,0.166667
1,0.666667,0.500000,0.666667,0.000000,0.333333,0.142857
2,0.333333,0.250000,0.400000,-0.400000,0.666667,0.142857
3,NaN,0.000000,0.000000,2.000000,NaN,0.200000
";
        assert_eq!(csv, expected);
    }

    #[test]
    fn a_list_restricts_the_labels_and_keeps_those_that_are_missing() {
        let (source, target) = (labels(&[1, 2, 2, 7]), labels(&[1, 2, 3, 0]));
        let overlap = Overlap::between(&source, &target, Some(&[2, 9, 0, 1])).unwrap();
        assert_eq!(overlap.labels.iter().map(|(label, _)| *label).collect::<Vec<_>>(), [1, 2, 9]);
        assert_eq!(overlap.all(), Counts { source: 3, target: 2, both: 2, neither: 9 });
        let mean = overlap.mean();
        // Label 9 is in neither map, so its Jaccard index is undefined and does not count in the mean.
        assert_eq!(mean[1], (1.0 + 0.5) / 2.0);
        assert!(overlap.labels[2].1.jaccard().is_nan());
    }

    #[test]
    fn refuses_another_grid() {
        let source = labels(&[1, 2, 3]);
        let mut moved = source.clone();
        moved.grid.origin.x += 0.5;
        let error = Overlap::between(&source, &moved, None).unwrap_err();
        let (here, there) = ("from (0.00, 0.00, 0.00) to (2.00, 0.00, 0.00)", "from (0.50, 0.00, 0.00)");
        assert!(error.to_string().contains(here) && error.to_string().contains(there), "{error}");
        // Grids that differ by the rounding of a header count as equal.
        moved.grid.origin.x -= 0.4999;
        assert!(Overlap::between(&source, &moved, None).is_ok());
    }
}
