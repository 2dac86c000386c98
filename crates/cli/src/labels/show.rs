//! Formats the scores of a set of atlases as text: the overlap of the labels that the atlases predict with true labels.

use antsreg_study::labels::{SummaryRow, TargetScores, summary};

use crate::table;

/// Formats the scores of atlases as a table: a row for each target image, and a row for the mean over the targets.
pub fn scores(targets: &[TargetScores]) -> String {
    let mut rows =
        vec![["Mean Jaccard", "Best atlas", "Best single", "Majority", "Joint"].map(String::from).to_vec()];
    for SummaryRow { name, best_atlas, mean_jaccard } in summary(targets) {
        let cells = mean_jaccard.map(|mean| if mean.is_finite() { format!("{mean:.4}") } else { "-".into() });
        rows.push([vec![name, best_atlas], cells.to_vec()].concat());
    }
    table::render(&rows)
}
