//! The operation of joint label fusion (Wang et al. 2013, IEEE TPAMI 35(3)): for each patch of a target image, the best
//! shift and the weight of each atlas.
//!
//! A patch is the cube of voxels around a target voxel that reaches the patch radius in each direction. The atlases lie
//! on the target's grid. Outside a volume, the values at its border are repeated.

mod images;
mod memory;
mod patches;
mod shifts;

pub use images::{Images, Scaled};
#[cfg(feature = "cuda")]
pub(crate) use memory::Batch;
pub use memory::device_bytes;
pub use patches::Patches;
pub(crate) use patches::{BLOCK, BLOCK_LEN, PatchBlock, place, with_margin};
pub use shifts::shifts;

use crate::{Backend, Error};

/// A patch is flat if its standard deviation is below this share of the image's intensity range. A flat patch is
/// background or noise and carries no information.
pub(crate) const FLAT: f64 = 1e-3;

/// Number of partial sums of a mean over a patch. Summand n, with the first axis fastest, belongs to the partial sum
/// n mod `LANES`.
pub(crate) const LANES: usize = 8;

/// Parameters of the comparison of patches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Radius of the patches, voxels; 1 to [`MOST_PATCH_RADIUS`](Parameters::MOST_PATCH_RADIUS).
    pub patch_radius: usize,
    /// Largest shift of an atlas's patch along each axis, voxels; at most
    /// [`MOST_SEARCH_RADIUS`](Parameters::MOST_SEARCH_RADIUS).
    pub search_radius: usize,
    /// α, the number that is added to the diagonal of the matrix of expected errors.
    pub alpha: f64,
    /// β, the exponent that turns intensity differences into expected errors.
    pub beta: f64,
    /// Whether weights below 0 are set to 0 before the weights are scaled to a sum of 1.
    pub not_negative: bool,
}

impl Parameters {
    /// The largest patch radius, voxels.
    pub const MOST_PATCH_RADIUS: usize = 8;
    /// The largest search radius, voxels.
    pub const MOST_SEARCH_RADIUS: usize = 15;

    /// Number of voxels of a patch along each axis.
    pub(crate) fn width(&self) -> usize {
        2 * self.patch_radius + 1
    }
}

/// For each patch and each atlas: the index of the chosen shift in the list of [`shifts`], and the weight of the atlas.
/// The entries of a patch follow each other, in the order of the atlases.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// Indices of the chosen shifts.
    pub shift: Vec<u16>,
    /// Weights of the atlases.
    pub weight: Vec<f32>,
}

impl Choices {
    /// Choices of `patches` patches of `atlases` atlases, all 0.
    pub(crate) fn zeros(patches: usize, atlases: usize) -> Choices {
        Choices { shift: vec![0; patches * atlases], weight: vec![0.0; patches * atlases] }
    }
}

/// The operation of joint label fusion on one device, the CPU or a GPU.
pub trait FusionBackend: Backend {
    /// Finds the best shift and the weight of each atlas for every patch of the target.
    ///
    /// Intensities are scaled to the range 0 to 1 of each image ([`Scaled`]). The best shift of an atlas is the one with
    /// the largest correlation Σ t·f / √Σ f², where t and f are the intensities of the target's patch and of the shifted
    /// patch minus their means over the patch. Of shifts with equal correlations, the first in the list of [`shifts`] is
    /// taken. A flat patch (standard deviation below 0.001) has the correlation 0, and around a flat patch of the target
    /// nothing is shifted.
    ///
    /// The weights w have the sum 1 and minimise wᵀMw: w = M⁻¹1 / 1ᵀM⁻¹1. Here M(i, j) = (mean of |T − Fᵢ|·|T − Fⱼ| over
    /// the patch)^β, plus α on the diagonal; T is the target's patch and Fᵢ the shifted patch of atlas i, both normalised
    /// to mean 0 and standard deviation 1. A flat patch is 0 everywhere. If M has no inverse, the weights are equal.
    ///
    /// Voxels are processed in blocks of 16 × 8 × 8. Before anything else, the mean over the block and its margin is
    /// subtracted from the intensities, in the target by the patch radius and in an atlas by patch radius plus search
    /// radius. With β = 2, all results have the same bits on every device. With other exponents the powers differ in
    /// their last bits.
    ///
    /// # Errors
    /// No atlas; images or patches of different shapes; a radius out of range; a device that fails.
    fn fusion_choices(
        &self,
        images: &Images<'_>,
        patches: &Patches,
        parameters: &Parameters,
    ) -> Result<Choices, Error>;
}

/// Checks the operands of [`FusionBackend::fusion_choices`].
pub(crate) fn check(images: &Images<'_>, patches: &Patches, parameters: &Parameters) -> Result<(), Error> {
    const OPERATION: &str = "fusion_choices";
    Error::check_shape(OPERATION, images.shape, patches.shape())?;
    if images.atlases.is_empty() {
        return Err(Error::Length { operation: OPERATION, expected: 1, found: 0 });
    }
    for image in std::iter::once(&images.target).chain(images.atlases) {
        Error::check_length(OPERATION, images.shape, image.voxels.len())?;
    }
    let Parameters { patch_radius, search_radius, .. } = *parameters;
    let radii = [
        ("patch", patch_radius, 1, Parameters::MOST_PATCH_RADIUS),
        ("search", search_radius, 0, Parameters::MOST_SEARCH_RADIUS),
    ];
    match radii.into_iter().find(|(_, radius, least, most)| !(least..=most).contains(&radius)) {
        Some((what, radius, least, most)) => Err(Error::FusionRadius { what, radius, least, most }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_reaches_its_radius_in_each_direction() {
        for (patch_radius, width) in [(1, 3), (3, 7), (8, 17)] {
            let parameters =
                Parameters { patch_radius, search_radius: 5, alpha: 0.1, beta: 2.0, not_negative: false };
            assert_eq!(parameters.width(), width);
        }
    }
}
