//! Warnings about the result of a registration that did not fail.

use std::fmt::{Display, Formatter};

use antsreg_core::{AffineTransform, ChainWarning};
use antsreg_linear as linear;
use antsreg_syn::{self as syn, Metric};
use serde::{Deserialize, Serialize};

use crate::{Coverage, Options, Registration, Similarity, StageOutcome};

/// A warning about the result of a registration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Warning {
    /// The images overlap little at the start.
    LittleOverlapAtStart {
        /// Share of the fixed image's grid that lies inside the moving image under the initial transform, 0 to 1.
        share: f64,
    },
    /// The result aligns the images worse than the initial transform.
    WorseThanStart {
        /// Correlations of the fixed with the moving image, first at the start and then with the result. `None` if the
        /// correlation hardly fell or rose, or if the metrics do not compare intensities.
        correlation: Option<[f64; 2]>,
        /// Shares (0 to 1) of the fixed image that lie inside the moving image, first at the start and then with the
        /// result. `None` if the share did not fall by more than half.
        coverage: Option<[f64; 2]>,
        /// Whether there was a linear stage, whose search for the affine may have caused the bad result.
        searched: bool,
    },
    /// The intensities of the images are negatively correlated, although the metrics compare intensities.
    NegativeCorrelation {
        /// Correlation of the fixed image with the registered moving image.
        correlation: f64,
    },
    /// A linear stage scaled the moving image very much along a direction.
    ImplausibleScale {
        /// Factor by which the affine found by the registration scales along the direction that it scales most, up or
        /// down; 1 means unchanged.
        scale: f64,
    },
    /// The result of a boundary-based registration was refused, because its cost was not lower than at the start, or
    /// because the result was far from the start.
    BoundaryRefused {
        /// Costs of the boundary-based registration, 0 to 1: first at the start, then with the refused transform.
        costs: [f64; 2],
        /// Distance between the transform at the start of the boundary-based registration and its refused result, mm:
        /// the root-mean-square displacement over a sphere with a radius of 80 mm.
        moved_mm: f64,
    },
    /// After relaxation, which corrects the warps locally, some voxels of the warps still fold, or deviate from the
    /// inverse warp by more than the limit.
    BeyondLimits {
        /// Number of voxels where the warp or its inverse folds, or where they deviate from each other's inverse by
        /// more than the limit.
        voxels: usize,
        /// Number of rounds of relaxation. Each round corrects the warps only near voxels where they fold or are not
        /// inverse to each other.
        rounds: usize,
    },
    /// The warps were smoothed at all voxels, because they still folded, or deviated from each other's inverse, after
    /// the strongest local smoothing.
    WholeSmoothed {
        /// How many times the warps were smoothed at all voxels.
        times: usize,
    },
    /// A level of a deformable stage was undone, because it did not make the images more similar.
    LevelUndone {
        /// Number of the level over all deformable stages, counted from 1.
        level: usize,
        /// Number of levels of all deformable stages.
        levels: usize,
    },
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::LittleOverlapAtStart { share } => {
                write!(f, "at the start, only {:.1} % of the fixed grid lies inside the moving image", 100.0 * share)
            }
            Warning::WorseThanStart { correlation, coverage, .. } => {
                let correlation = correlation.map(|[start, now]| {
                    format!("the correlation with the fixed image is {now:.4}, and was {start:.4} at the start")
                });
                let coverage = coverage.map(|shares| {
                    let [start, now] = shares.map(|share| 100.0 * share);
                    format!(
                        "the moving image covers {now:.0} % of the fixed image, and covered {start:.0} % at the start"
                    )
                });
                let signs: Vec<String> = correlation.into_iter().chain(coverage).collect();
                write!(f, "the result aligns the images worse than the initial transform: {}", signs.join(", "))
            }
            Warning::NegativeCorrelation { correlation } => {
                write!(f, "the correlation with the fixed image is negative: {correlation:.4}")
            }
            Warning::ImplausibleScale { scale } => {
                write!(f, "the affine scales by {scale:.2} along one direction")
            }
            Warning::BoundaryRefused { costs: [start, found], moved_mm } => write!(
                f,
                "the result of boundary-based registration is refused: its cost is {found:.4}, at the start {start:.4}; \
                 the result is {moved_mm:.1} mm from the start; expected a lower cost within {:.0} mm of the start",
                linear::Boundary::FARTHEST_MM
            ),
            Warning::BeyondLimits { voxels, rounds } => write!(
                f,
                "after {rounds} rounds of relaxation (local correction), {voxels} voxels of the warps still fold, or \
                 deviate from the inverse warp by more than the limit"
            ),
            Warning::WholeSmoothed { times } => {
                write!(
                    f,
                    "local smoothing did not remove all folds of the warps: the whole warps were smoothed {times} times"
                )
            }
            Warning::LevelUndone { level, levels } => {
                write!(
                    f,
                    "syn {level}/{levels}: this level was undone, because it did not make the images more similar"
                )
            }
        }
    }
}

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
pub(crate) fn all(found: &Registration, start: Vec<ChainWarning>, options: &Options) -> Vec<Warning> {
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
    use antsreg_linear::Cost;

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
