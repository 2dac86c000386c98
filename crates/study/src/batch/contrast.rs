//! Finds subjects of a batch whose contrast differs from that of the others.

use super::rows::Row;
use crate::outliers::{lowest_usual, unlike_most};

/// Least number of subjects for statements about most of them.
const LEAST: usize = 4;

/// The subjects whose contrast differs from that of the others, as indices of their rows, each with a warning. The contrast
/// is that found by brain extraction. Without brain extraction it is judged by the correlation with the fixed image after
/// the registration, which is also low if the result is wrong.
pub(super) fn unlike(rows: &[Row]) -> Vec<(usize, String)> {
    let contrast = |row: &Row| Some(row.record.as_ref()?.head.as_ref()?.found.as_ref()?.contrast);
    let contrasts: Vec<_> = rows.iter().map(contrast).collect();
    let mut found = Vec::new();
    if let Some((most, unlike)) = unlike_most(&contrasts) {
        let text = |contrast| {
            format!(
                "the contrast of the image is {contrast}, that of most others is {most}: do not compare their intensities"
            )
        };
        found.extend(unlike.into_iter().filter_map(|n| Some((n, text(contrasts[n]?)))));
    }
    let correlations: Vec<_> = rows.iter().map(|row| row.record.as_ref()?.similarity.correlation).collect();
    let known: Vec<f64> = correlations.iter().flatten().copied().collect();
    if known.len() >= LEAST {
        let lowest = lowest_usual(&known);
        let low = |n: &usize| correlations[*n].is_some_and(|value| value < lowest);
        for n in (0..rows.len()).filter(low) {
            let (Some(value), false) = (correlations[n], found.iter().any(|(other, _)| *other == n)) else {
                continue;
            };
            found.push((
                n,
                format!(
                    "the correlation with the fixed image is {value:.3}; expected at least {lowest:.3}, as of the other \
                     subjects: the image has another contrast, or its result is wrong"
                ),
            ));
        }
    }
    found
}
