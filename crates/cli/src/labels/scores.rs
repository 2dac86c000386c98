//! How well labels were found: every subject in turn, by every way of finding them.

use antsreg_core::Overlap;

use crate::table;

/// A way of finding labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// What it is called: the name of a single atlas, or that of the fusion.
    pub name: String,
    /// Its agreement with the truth.
    pub overlap: Overlap,
}

/// One subject labelled by the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The subject.
    pub name: String,
    /// Labels of one atlas alone.
    pub single: Vec<Method>,
    /// Every atlas with one vote.
    pub majority: Overlap,
    /// Joint label fusion.
    pub joint: Overlap,
}

/// Mean Jaccard over the labels that either map holds.
pub fn mean_jaccard(overlap: &Overlap) -> f64 {
    overlap.mean()[1]
}

/// The ways that are set beside each other, as they are called in tables and plots.
pub const SHOWN: [&str; 3] = ["best single atlas", "majority", "joint"];

impl Target {
    /// The atlas whose labels have the largest mean Jaccard, the first of those that tie.
    pub fn best(&self) -> Option<&Method> {
        let better =
            |best: Option<&'_ Method>, score: f64| best.is_none_or(|best| score > mean_jaccard(&best.overlap));
        self.single
            .iter()
            .fold(None, |best, method| if better(best, mean_jaccard(&method.overlap)) { Some(method) } else { best })
    }

    /// The agreement of each of [`SHOWN`].
    pub fn shown(&self) -> [Option<&Overlap>; 3] {
        [self.best().map(|best| &best.overlap), Some(&self.majority), Some(&self.joint)]
    }
}

/// A row for every target, way and label: `Target,Method,Label,Jaccard,Dice`. A label that neither map holds is NaN.
pub fn per_label_csv(targets: &[Target]) -> Result<String, csv::Error> {
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
    // It is made of strings.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Mean Jaccard of each target, and of all: the best single atlas, majority vote and joint fusion beside each other.
fn summary(targets: &[Target]) -> Vec<(String, String, [f64; 3])> {
    let mut rows: Vec<(String, String, [f64; 3])> = targets
        .iter()
        .map(|target| {
            let best = target.best().map_or(String::new(), |best| best.name.clone());
            (target.name.clone(), best, target.shown().map(|overlap| overlap.map_or(f64::NAN, mean_jaccard)))
        })
        .collect();
    let mean = |n: usize| rows.iter().map(|row| row.2[n]).sum::<f64>() / rows.len() as f64;
    rows.push(("Mean".into(), String::new(), [mean(0), mean(1), mean(2)]));
    rows
}

/// The summary as CSV.
pub fn summary_csv(targets: &[Target]) -> Result<String, csv::Error> {
    let mut rows = vec![["Target", "BestAtlas", "BestSingle", "Majority", "Joint"].map(String::from).to_vec()];
    for (name, best, means) in summary(targets) {
        rows.push([vec![name, best], means.map(|mean| format!("{mean:.6}")).to_vec()].concat());
    }
    as_csv(rows)
}

/// The summary for the terminal.
pub fn show(targets: &[Target]) -> String {
    let mut rows =
        vec![["Mean Jaccard", "Best atlas", "Best single", "Majority", "Joint"].map(String::from).to_vec()];
    for (name, best, means) in summary(targets) {
        let cells = means.map(|mean| if mean.is_finite() { format!("{mean:.4}") } else { "-".into() });
        rows.push([vec![name, best], cells.to_vec()].concat());
    }
    table::render(&rows)
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

    fn targets() -> Vec<Target> {
        let truth = [1, 1, 2, 2];
        let single = [("b", [1, 1, 1, 1]), ("a", [1, 1, 1, 2])].map(|(name, map)| (name.into(), overlap(map, truth)));
        let single = single.map(|(name, overlap)| Method { name, overlap }).to_vec();
        vec![Target {
            name: "t".into(),
            single,
            majority: overlap([2, 2, 1, 1], truth),
            joint: overlap(truth, truth),
        }]
    }

    #[test]
    fn ways_stand_beside_each_other() {
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
        // A name may hold anything.
        let named = Target { name: "a, \"b\"".into(), ..targets[0].clone() };
        assert!(summary_csv(&[named]).expect("a table").contains("\n\"a, \"\"b\"\"\",a,0.58"));
        assert!(show(&targets).contains("0.5833"));
    }
}
