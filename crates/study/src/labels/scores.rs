//! Scores of the labels that each method (single atlas, majority vote, joint fusion) gives to each target image.

use antsreg_core::Overlap;

/// The overlap of a single atlas's labels with the true labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// The name of the atlas.
    pub name: String,
    /// Overlap (Jaccard, Dice) of the labels from this atlas alone with the true labels.
    pub overlap: Overlap,
}

/// Leave-one-out scores of one atlas: the labels from the other atlases, compared with its own labels.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetScores {
    /// The name of the atlas.
    pub name: String,
    /// Overlap of the labels of each other atlas alone with the true labels.
    pub single: Vec<Method>,
    /// Overlap of the labels by majority vote with the true labels.
    pub majority: Overlap,
    /// Overlap of the labels by joint fusion with the true labels.
    pub joint: Overlap,
}

/// Overlap of labels with the true labels, by each method: for one target, or the mean over all targets.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRow {
    /// The name of the target, or `Mean`.
    pub name: String,
    /// Name of the best single atlas; empty if there is none.
    pub best_atlas: String,
    /// Mean Jaccard of the best single atlas, of majority vote and of joint fusion; NaN for a value that does not
    /// exist.
    pub mean_jaccard: [f64; 3],
}

/// Mean Jaccard index over all labels that are in at least one of the two compared label maps.
pub fn mean_jaccard(overlap: &Overlap) -> f64 {
    overlap.mean()[1]
}

/// Names, in tables and plots, of the methods that label a target.
pub(super) const SHOWN: [&str; 3] = ["best single atlas", "majority", "joint"];

impl TargetScores {
    /// The single atlas whose labels have the largest mean Jaccard; of several equal atlases, the first.
    pub fn best(&self) -> Option<&Method> {
        let better =
            |best: Option<&'_ Method>, score: f64| best.is_none_or(|best| score > mean_jaccard(&best.overlap));
        self.single
            .iter()
            .fold(None, |best, method| if better(best, mean_jaccard(&method.overlap)) { Some(method) } else { best })
    }

    /// Overlap with the true labels of the best single atlas, of majority vote and of joint fusion: the methods that
    /// tables and plots show, named in [`SHOWN`].
    pub(super) fn shown(&self) -> [Option<&Overlap>; 3] {
        [self.best().map(|best| &best.overlap), Some(&self.majority), Some(&self.joint)]
    }
}

/// CSV table with a row for each target, method and label: `Target,Method,Label,Jaccard,Dice`. The values are NaN for
/// a label that is in neither of the two compared label maps.
pub(super) fn per_label_csv(targets: &[TargetScores]) -> Result<String, csv::Error> {
    let mut rows = vec![["Target", "Method", "Label", "Jaccard", "Dice"].map(String::from).to_vec()];
    for target in targets {
        let single = target.single.iter().map(|method| (method.name.as_str(), &method.overlap));
        for (method, overlap) in single.chain([("majority", &target.majority), ("joint", &target.joint)]) {
            rows.extend(overlap.labels.iter().map(|(label, counts)| {
                let measures = [counts.jaccard(), counts.dice()].map(|value| format!("{value:.6}"));
                [vec![target.name.clone(), method.to_owned(), label.to_string()], measures.to_vec()].concat()
            }));
        }
    }
    as_csv(rows)
}

fn as_csv(rows: Vec<Vec<String>>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.write_record(row))?;
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    // The bytes are valid UTF-8, because only strings were written.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Mean Jaccard of each target, then the mean over all targets: best single atlas, majority vote, joint fusion.
pub fn summary(targets: &[TargetScores]) -> Vec<SummaryRow> {
    let row = |target: &TargetScores| SummaryRow {
        name: target.name.clone(),
        best_atlas: target.best().map_or(String::new(), |best| best.name.clone()),
        mean_jaccard: target.shown().map(|overlap| overlap.map_or(f64::NAN, mean_jaccard)),
    };
    let mut rows: Vec<SummaryRow> = targets.iter().map(row).collect();
    let mean = |n: usize| rows.iter().map(|row| row.mean_jaccard[n]).sum::<f64>() / rows.len() as f64;
    let mean_jaccard = [mean(0), mean(1), mean(2)];
    rows.push(SummaryRow { name: "Mean".into(), best_atlas: String::new(), mean_jaccard });
    rows
}

/// CSV table of the mean Jaccard of each target, and of the mean over all targets.
pub(super) fn summary_csv(targets: &[TargetScores]) -> Result<String, csv::Error> {
    let mut rows = vec![["Target", "BestAtlas", "BestSingle", "Majority", "Joint"].map(String::from).to_vec()];
    for SummaryRow { name, best_atlas, mean_jaccard } in summary(targets) {
        rows.push([vec![name, best_atlas], mean_jaccard.map(|mean| format!("{mean:.6}")).to_vec()].concat());
    }
    as_csv(rows)
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Grid, LabelVolume};

    use super::*;

    fn overlap(source: [i32; 4], target: [i32; 4]) -> Overlap {
        let map =
            |voxels: [i32; 4]| LabelVolume { grid: Grid::axis_aligned([4, 1, 1], [1.0; 3]), voxels: voxels.to_vec() };
        Overlap::between(&map(source), &map(target), Some(&[1, 2])).expect("one grid")
    }

    fn targets() -> Vec<TargetScores> {
        let truth = [1, 1, 2, 2];
        let single = [("b", [1, 1, 1, 1]), ("a", [1, 1, 1, 2])].map(|(name, map)| (name.into(), overlap(map, truth)));
        let single = single.map(|(name, overlap)| Method { name, overlap }).to_vec();
        vec![TargetScores {
            name: "t".into(),
            single,
            majority: overlap([2, 2, 1, 1], truth),
            joint: overlap(truth, truth),
        }]
    }

    #[test]
    fn methods_are_compared() {
        let targets = targets();
        assert_eq!(targets[0].best().map(|best| best.name.as_str()), Some("a"));
        let expected = "\
Target,BestAtlas,BestSingle,Majority,Joint
t,a,0.583333,0.000000,1.000000
Mean,,0.583333,0.000000,1.000000
";
        assert_eq!(summary_csv(&targets).expect("a table"), expected);
        let csv = per_label_csv(&targets).expect("a table");
        assert_eq!(csv.lines().count(), 1 + 4 * 2);
        assert!(csv.contains("t,a,1,0.666667,0.800000\nt,a,2,0.500000,0.666667\nt,majority,1,0.000000"), "{csv}");
        // The name contains a comma and quotes, which CSV must escape.
        let named = TargetScores { name: "a, \"b\"".into(), ..targets[0].clone() };
        assert!(summary_csv(&[named]).expect("a table").contains("\n\"a, \"\"b\"\"\",a,0.58"));
    }
}
