//! Warnings about the result of a registration that did not fail.

use std::fmt::{Display, Formatter};

use antsreg_linear as linear;
use serde::{Deserialize, Serialize};

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
