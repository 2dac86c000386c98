//! Decides of which signs of a bad result a registration warns.

use antsreg_core::{AffineTransform, ChainWarning};
use antsreg_syn::{self as syn, Metric};

use crate::{Coverage, Options, Registration, Similarity, StageOutcome, Warning};

/// Largest loss of explained variance (squared correlation) from the start to the result for which no warning is
/// given.
const LOST: f64 = 0.1;

/// A warning is given if the share of the fixed image that lies inside the moving image, divided by the same share at
/// the start, is below this number.
const LEFT: f64 = 0.5;

/// Largest plausible scale between two brains along any direction. The smallest plausible scale is the inverse of this
/// number.
const PLAUSIBLE: f64 = 2.0;

/// Returns all warnings about a result.
pub(crate) fn warnings(found: &Registration, start: Vec<ChainWarning>, options: &Options) -> Vec<Warning> {
    let start = start.into_iter().map(|warning| Warning::LittleOverlapAtStart { share: warning.share_inside });
    let beyond = found.relaxed.filter(|relaxed| relaxed.beyond > 0);
    let beyond = beyond.map(|syn::Relaxed { beyond, rounds, .. }| Warning::BeyondLimits { voxels: beyond, rounds });
    let whole = found.relaxed.filter(|relaxed| relaxed.whole > 0);
    let whole = whole.map(|relaxed| Warning::WholeSmoothed { times: relaxed.whole });
    start
        .chain(refused(&found.outcomes))
        .chain(undone(found.levels()))
        .chain(worse(options, &found.similarity, &found.coverage))
        .chain(whole)
        .chain(negative(options, &found.similarity))
        .chain(implausible(&found.start, &found.affine))
        .chain(beyond)
        .collect()
}

/// Warnings about boundary-based registrations whose results were refused.
fn refused(outcomes: &[StageOutcome]) -> impl Iterator<Item = Warning> {
    let boundaries = outcomes.iter().filter_map(|outcome| match outcome {
        StageOutcome::Linear(outcome) => outcome.boundary,
        StageOutcome::Deformable(_) => None,
    });
    boundaries
        .filter(|outcome| !outcome.taken)
        .map(|outcome| Warning::BoundaryRefused { costs: outcome.costs, moved_mm: outcome.moved_mm })
}

/// Warnings about levels of the deformable stages whose displacements were undone, because they did not make the images
/// more similar.
fn undone<'a>(levels: impl Iterator<Item = &'a syn::LevelOutcome>) -> impl Iterator<Item = Warning> {
    let undone: Vec<bool> = levels.map(|level| level.undone).collect();
    let levels = undone.len();
    let places = undone.into_iter().enumerate().filter(|(_, undone)| *undone);
    places.map(move |(place, _)| Warning::LevelUndone { level: place + 1, levels })
}

/// A warning if the initial transform aligned the images better than the result does. The cost does not show this: it
/// is computed only where the images overlap, and a small overlap may match well.
fn worse(options: &Options, similarity: &Similarity, coverage: &Coverage) -> Option<Warning> {
    let mut correlation = None;
    if let (true, Some(start)) = (compares_intensities(options), similarity.correlation_at_start) {
        // Images that do not overlap have no correlation; their correlation counts as 0.
        let now = similarity.correlation.unwrap_or(0.0);
        correlation = (start * start - now * now > LOST).then_some([start, now]);
    }
    let shares = match *coverage {
        Coverage { at_start: Some(start), now: Some(now) } if now <= LEFT * start && now < start => {
            Some([start, now])
        }
        _ => None,
    };
    let searched = options.linear().next().is_some();
    let is_worse = correlation.is_some() || shares.is_some();
    is_worse.then_some(Warning::WorseThanStart { correlation, coverage: shares, searched })
}

/// A warning if images of one modality correlate negatively.
fn negative(options: &Options, similarity: &Similarity) -> Option<Warning> {
    let correlation =
        similarity.correlation.filter(|correlation| *correlation < 0.0 && compares_intensities(options));
    correlation.map(|correlation| Warning::NegativeCorrelation { correlation })
}

/// A warning if the result scales much more than the start. The start may be given by the user. Both affines are
/// fixed → moving.
fn implausible(start: &AffineTransform, affine: &AffineTransform) -> Option<Warning> {
    let since_start = affine.matrix.try_inverse()? * start.matrix;
    let scales = since_start.singular_values();
    let far = |scale: f64| scale.max(1.0 / scale);
    let scale = scales.iter().copied().max_by(|a, b| far(*a).total_cmp(&far(*b)))?;
    (far(scale) > PLAUSIBLE).then_some(Warning::ImplausibleScale { scale })
}

/// Whether every cost and metric assumes images of one modality. Then the images of a good result are correlated.
fn compares_intensities(options: &Options) -> bool {
    let first_metric = |options: &syn::Options| options.channels.first().map(|channel| channel.metric);
    options.linear().all(|options| !options.cost.has_joint_histogram())
        && options.deformable().filter_map(first_metric).all(|metric| metric == Metric::Cc)
}

#[cfg(test)]
mod tests {
    use antsreg_linear::{self as linear, Cost};

    use super::*;
    use crate::Stage;

    /// Options for a linear and a deformable stage with this cost and metric, otherwise the defaults.
    fn options(cost: Cost, metric: Metric) -> Options {
        let mut syn = syn::Options::default();
        syn.channels[0].metric = metric;
        let linear = linear::Options { cost, ..Default::default() };
        Options { stages: vec![Stage::Linear(linear), Stage::Deformable(syn)], ..Options::default() }
    }

    fn worse_by(
        options: &Options,
        [start, now]: [Option<f64>; 2],
        [covered_at_start, covered]: [f64; 2],
    ) -> Option<Warning> {
        let similarity = Similarity { correlation_at_start: start, correlation: now };
        worse(options, &similarity, &Coverage { at_start: Some(covered_at_start), now: Some(covered) })
    }

    #[test]
    fn a_result_worse_than_the_start_gives_a_warning() {
        let options = options(Cost::CorrelationRatio, Metric::Cc);
        let both = worse_by(&options, [Some(0.98), Some(0.24)], [1.0, 0.15]).expect("a warning").to_string();
        for word in ["0.2400", "0.9800", "15 %", "100 %"] {
            assert!(both.contains(word), "`{word}` is missing in: {both}");
        }
        assert!(worse_by(&options, [Some(0.8), None], [1.0; 2]).is_some(), "the image has left the grid");
        let covered = worse_by(&options, [Some(0.8), Some(0.9)], [0.4, 0.2]);
        let expected = Warning::WorseThanStart { correlation: None, coverage: Some([0.4, 0.2]), searched: true };
        assert_eq!(covered, Some(expected));
        let given = Options { stages: options.stages[1..].to_vec(), ..options };
        let found = worse_by(&given, [Some(0.98), Some(0.24)], [1.0; 2]);
        assert!(matches!(found, Some(Warning::WorseThanStart { searched: false, .. })), "{found:?}");
    }

    #[test]
    fn a_good_result_gives_no_warning() {
        let same = options(Cost::CorrelationRatio, Metric::Cc);
        for pair in [[0.96, 0.99], [0.95, 0.93], [0.2, 0.0], [-0.4, -0.6], [-0.3, 0.7]] {
            assert_eq!(worse_by(&same, pair.map(Some), [0.9, 0.6]), None, "{pair:?}");
        }
        assert_eq!(worse_by(&same, [None, None], [0.0, 0.0]), None, "the start did not overlap either");
        // With two modalities a good result may have a low correlation. But a result is never good if it leaves most of
        // the fixed image outside the moving image.
        for other in
            [options(Cost::NormalisedMutualInformation, Metric::Cc), options(Cost::CorrelationRatio, Metric::Mattes)]
        {
            assert_eq!(worse_by(&other, [Some(0.9), Some(0.1)], [1.0, 0.8]), None);
            let found = worse_by(&other, [Some(0.9), Some(0.1)], [1.0, 0.3]);
            assert!(matches!(found, Some(Warning::WorseThanStart { correlation: None, .. })), "{found:?}");
        }
    }

    #[test]
    fn a_negative_correlation_within_one_modality_gives_a_warning() {
        let similarity = |now| Similarity { correlation_at_start: Some(-0.3), correlation: now };
        let same = options(Cost::CorrelationRatio, Metric::Cc);
        let found = negative(&same, &similarity(Some(-0.62))).expect("a warning");
        assert_eq!(found, Warning::NegativeCorrelation { correlation: -0.62 });
        assert!(found.to_string().contains("-0.6200"), "{found}");
        assert_eq!(negative(&same, &similarity(Some(0.01))), None);
        assert_eq!(negative(&same, &similarity(None)), None);
        let other = options(Cost::NormalisedMutualInformation, Metric::Cc);
        assert_eq!(negative(&other, &similarity(Some(-0.62))), None);
    }

    #[test]
    fn scales_that_no_two_brains_have_give_a_warning() {
        use nalgebra::{Matrix3, Rotation3, Vector3};
        let turn = Rotation3::from_euler_angles(0.3, -0.2, 1.0).into_inner();
        let affine = |scales: [f64; 3]| AffineTransform {
            matrix: turn * Matrix3::from_diagonal(&Vector3::from(scales)),
            translation: Vector3::new(5.0, 0.0, -90.0),
        };
        let start = affine([1.0; 3]);
        assert_eq!(implausible(&start, &affine([1.9, 1.0, 0.6])), None);
        // The moving image is ten times smaller along x, so the affine (fixed → moving) scales by a tenth.
        let scale = |start, affine| match implausible(start, &affine) {
            Some(Warning::ImplausibleScale { scale }) => scale,
            other => panic!("{other:?}"),
        };
        assert!((scale(&start, affine([0.1, 1.0, 2.2])) - 10.0).abs() < 1e-9);
        assert!((scale(&start, affine([4.0, 0.9, 1.0])) - 0.25).abs() < 1e-9);
        // If the start transform already contains a large scale, the user intends this scale. So no warning follows.
        assert_eq!(implausible(&affine([10.0; 3]), &affine([11.0; 3])), None);
    }

    #[test]
    fn undone_levels_are_counted_over_all_stages() {
        let level = |undone| syn::LevelOutcome { shrink: 1, energies: Vec::new(), converged: false, undone };
        let levels = [level(false), level(true), level(false)];
        let found: Vec<Warning> = undone(levels.iter()).collect();
        assert_eq!(found, [Warning::LevelUndone { level: 2, levels: 3 }]);
        assert_eq!(
            found[0].to_string(),
            "syn 2/3: this level was undone, because it did not make the images more similar"
        );
    }
}
