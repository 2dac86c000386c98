//! Joint label fusion: votes with weights that minimise the expected error.

use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::fusion::{Choices, FusionBackend, Images, Patches, Scaled, device_bytes};

use super::ballot::Ballot;
use super::error::FusionError;
use super::fused::Fused;
use super::options::{JointOptions, Sign};
use super::undecided::{check_grid, dilate, undecided};

/// An atlas for label fusion: image and labels, resampled on the target's grid.
#[derive(Debug, Clone, Copy)]
pub struct Atlas<'a> {
    /// Image of the atlas, on the target's grid.
    pub image: &'a Volume,
    /// Label map of the atlas, on the target's grid.
    pub labels: &'a LabelVolume,
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
