//! Joint label fusion: votes with weights that minimise the expected error.

use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::fusion::{Choices, FusionBackend, Images, Parameters, Patches, Scaled, device_bytes};
use serde::{Deserialize, Serialize};

use super::ballot::Ballot;
use super::error::FusionError;
use super::fused::Fused;
use super::undecided::{check_grid, dilate, undecided};

/// An atlas for label fusion: image and labels, resampled on the target's grid.
#[derive(Debug, Clone, Copy)]
pub struct Atlas<'a> {
    /// Image of the atlas, on the target's grid.
    pub image: &'a Volume,
    /// Label map of the atlas, on the target's grid.
    pub labels: &'a LabelVolume,
}

/// Parameters of joint label fusion. The defaults are those of the authors of the method (Wang et al. 2013).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JointOptions {
    /// Radius of the compared patches, voxels. A patch is a cube of 2·radius + 1 voxels along each axis.
    pub patch_radius: usize,
    /// Largest shift between a patch of the target and the compared patch of an atlas, along each axis, voxels.
    pub search_radius: usize,
    /// α, the constant that is added to the diagonal of the matrix of expected errors. A larger α makes the weights of
    /// the atlases more equal.
    pub alpha: f64,
    /// β, the exponent that turns intensity differences into expected errors.
    pub beta: f64,
}

impl Default for JointOptions {
    fn default() -> JointOptions {
        JointOptions { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0 }
    }
}

impl JointOptions {
    /// The largest patch radius allowed, voxels.
    pub const MOST_PATCH_RADIUS: usize = Parameters::MOST_PATCH_RADIUS;
    /// The largest search radius allowed, voxels.
    pub const MOST_SEARCH_RADIUS: usize = Parameters::MOST_SEARCH_RADIUS;
    /// The largest allowed alpha and beta.
    pub const MOST_WEIGHTING: f64 = 1e3;

    /// The parameters of the comparison of patches.
    fn parameters(&self, sign: Sign) -> Parameters {
        let JointOptions { patch_radius, search_radius, alpha, beta } = *self;
        Parameters { patch_radius, search_radius, alpha, beta, not_negative: sign == Sign::NotNegative }
    }

    /// Checks that all parameters of joint label fusion are in range.
    ///
    /// # Errors
    /// [`FusionError::Option`] names the first parameter that is out of range.
    pub fn check(&self) -> Result<(), FusionError> {
        let is_within = |number: f64| number > 0.0 && number <= Self::MOST_WEIGHTING;
        let checks = [
            (
                "the patch radius",
                self.patch_radius as f64,
                "1 to 8 voxels",
                (1..=Self::MOST_PATCH_RADIUS).contains(&self.patch_radius),
            ),
            (
                "the search radius",
                self.search_radius as f64,
                "0 to 15 voxels",
                self.search_radius <= Self::MOST_SEARCH_RADIUS,
            ),
            ("alpha", self.alpha, "a number above 0, at most 1000", is_within(self.alpha)),
            ("beta", self.beta, "a number above 0, at most 1000", is_within(self.beta)),
        ];
        match checks.into_iter().find(|check| !check.3) {
            Some((option, found, expected, _)) => Err(FusionError::Option { option, found, expected }),
            None => Ok(()),
        }
    }
}

/// Whether negative weights of atlases are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Negative weights are kept, as in the formula of joint label fusion.
    Any,
    /// Negative weights are set to 0 before the weights are scaled to a sum of 1.
    NotNegative,
}

/// Fuses the labels of `atlases`, whose images lie on the grid of `target` (Wang et al. 2013). Patches are compared on
/// the device of `backend`.
///
/// A voxel where all atlases have the same label gets that label. Around every other voxel, the patch of the target is
/// compared with the most similar patch of each atlas, which a local search finds. The weights that result from a patch
/// apply to all voxels of the patch. So all patches that contain a voxel decide its label.
///
/// # Errors
/// No atlas, an atlas on another grid, an option out of range, or a device that fails.
pub fn joint<B: FusionBackend>(
    target: &Volume,
    atlases: &[Atlas],
    options: &JointOptions,
    backend: &B,
) -> Result<Fused, FusionError> {
    Ok(compare(target, atlases, options, backend)?.fuse())
}

/// The patches of a target that were compared with those of its atlases. [`fuse`](Compared::fuse) does the rest of
/// [`joint`], for which no device but the CPU is needed.
#[derive(Debug, Clone)]
pub struct Compared<'a> {
    labels: Vec<&'a LabelVolume>,
    options: JointOptions,
    /// For each voxel, whether the atlases disagree.
    open: Vec<bool>,
    patches: Patches,
    choices: Choices,
}

/// Compares the patches of `target` with those of its atlases, on the device of `backend`: the first part of [`joint`].
///
/// # Errors
/// The errors of [`joint`].
pub fn compare<'a, B: FusionBackend>(
    target: &Volume,
    atlases: &[Atlas<'a>],
    options: &JointOptions,
    backend: &B,
) -> Result<Compared<'a>, FusionError> {
    check(target, atlases, options)?;
    let labels: Vec<&LabelVolume> = atlases.iter().map(|atlas| atlas.labels).collect();
    let shape = target.grid.shape;
    let open = undecided(&labels);
    let patches = Patches::around(&dilate(&open, shape, options.patch_radius), shape);
    let choices = choose(target, atlases, options, Sign::Any, &patches, backend)?;
    Ok(Compared { labels, options: *options, open, patches, choices })
}

impl Compared<'_> {
    /// Fuses the labels of the atlases.
    pub fn fuse(&self) -> Fused {
        let Compared { labels, options, open, patches, choices } = self;
        let first = labels[0];
        let ballot = Ballot::new(first.grid.shape, options, patches, choices);
        // Copying the labels takes one thread; the votes take all others.
        let (agreed, votes) = rayon::join(|| first.clone(), || ballot.labels(labels, open));
        Fused::new(agreed, votes)
    }
}

/// GPU memory that [`joint`] needs, bytes, on a grid of this shape.
pub fn joint_device_bytes(shape: [usize; 3], atlases: usize, options: &JointOptions) -> u64 {
    device_bytes(shape, atlases, &options.parameters(Sign::Any))
}

/// Checks the options and the grids of the atlases; at least one atlas is needed.
pub(super) fn check(target: &Volume, atlases: &[Atlas], options: &JointOptions) -> Result<(), FusionError> {
    options.check()?;
    if atlases.is_empty() {
        return Err(FusionError::NoAtlas);
    }
    for (number, atlas) in atlases.iter().enumerate() {
        check_grid(number, &target.grid, &atlas.image.grid)?;
        check_grid(number, &target.grid, &atlas.labels.grid)?;
    }
    Ok(())
}

/// For every patch of the target image, finds the best shift of each atlas's patch and the weight of each atlas.
pub(super) fn choose<B: FusionBackend>(
    target: &Volume,
    atlases: &[Atlas],
    options: &JointOptions,
    sign: Sign,
    patches: &Patches,
    backend: &B,
) -> Result<Choices, FusionError> {
    let scaled: Vec<Scaled> = atlases.iter().map(|atlas| Scaled::new(&atlas.image.voxels)).collect();
    let images = Images { shape: target.grid.shape, target: Scaled::new(&target.voxels), atlases: &scaled };
    Ok(backend.fusion_choices(&images, patches, &options.parameters(sign))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_device_holds_all_images() {
        let (shape, options) = ([50, 60, 70], JointOptions::default());
        let image = 4 * 50 * 60 * 70;
        let mut before = image;
        for atlases in 1..6 {
            let bytes = joint_device_bytes(shape, atlases, &options);
            assert!(bytes > before + image, "{bytes} for {atlases}");
            before = bytes;
        }
    }
}
