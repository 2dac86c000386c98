//! Results of the steps, as the manifests and the records of a template contain them.

use serde::{Deserialize, Serialize};

/// Results of the registration of a subject to the template: cost, energies, correlation and mean intensity.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegistrationResults {
    /// Cost of the affine stage.
    pub affine_cost: f64,
    /// Energy at the end of each level of the deformable stage.
    pub energies: Vec<f64>,
    /// Pearson correlation with the template in the first channel, over the template's foreground.
    pub correlation: Option<f64>,
    /// Mean intensity of the voxels above 0 in the first channel.
    pub mean_intensity: f64,
}

/// Results of averaging the subjects in a pass: subjects, outliers, mean stretch and sharpness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AverageResults {
    /// Names of the subjects that were averaged.
    pub subjects: Vec<String>,
    /// Names of the subjects that were left out of the affine average, because their correlation is far below that of
    /// the others.
    pub outliers: Vec<String>,
    /// Matrix of the mean stretch, row by row: the mean of the affine transforms without rotations.
    pub stretch: [[f64; 3]; 3],
    /// Mean gradient magnitude divided by mean intensity, both where at least half of the subjects have foreground;
    /// per mm.
    pub sharpness_per_mm: f64,
}

/// Statistics of the template that results from a pass.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateResults {
    /// Number of the pass.
    pub pass: usize,
    /// Mean movement of the template since the previous pass, over the foreground, voxels.
    pub moved_mean_voxels: f64,
    /// Largest movement of the template since the previous pass, over the foreground, voxels.
    pub moved_largest_voxels: f64,
    /// Length of the mean warp, mean over the foreground, voxels: 0 for a template without bias.
    pub mean_warp_voxels: f64,
    /// Pearson's correlation with the template of the previous pass, in the foreground.
    pub correlation_with_before: Option<f64>,
    /// Mean gradient magnitude divided by mean intensity, in the foreground; per mm.
    pub sharpness_per_mm: f64,
    /// Whether the template moved so little that no further pass is needed.
    pub converged: bool,
}

/// Results of registering a subject to the final template: correlation, length of the warp, inverse consistency.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubjectResults {
    /// Pearson correlation with the template in the first channel, over the template's foreground.
    pub correlation: Option<f64>,
    /// Mean length of the subject's warp over the template's foreground, voxels.
    pub warp_mean_voxels: f64,
    /// Largest distance between a point of the template's foreground and its position after the warp and the inverse
    /// warp, voxels.
    pub inverse_misses_voxels: f64,
}

/// Statistics of the final template.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FinishResults {
    /// Number of the last pass.
    pub pass: usize,
    /// Mean gradient magnitude divided by mean intensity, both where at least half of the subjects have foreground;
    /// per mm.
    pub sharpness_per_mm: f64,
    /// Length of the mean of all final warps, mean over the foreground, voxels: 0 for a template without bias.
    pub mean_final_warp_voxels: f64,
    /// The template's sharpness divided by that of the affine average; `None` without an affine average.
    pub sharper_than_affine_average: Option<f64>,
}
