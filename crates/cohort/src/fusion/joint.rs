//! Joint label fusion: votes with weights that minimise the expected error.

use antsreg_core::{Grid, LabelVolume, Volume};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ballot::Ballot;
use super::block::{BLOCK, Patches, Region, Scaled};
use super::error::FusionError;
use super::fused::Fused;
use super::search::{BLOCK_LEN, Search, shifts};
use super::undecided::{check_grid, dilate, undecided};
use super::weights::{Differences, Sign, View, place, solve};

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
    pub const MOST_PATCH_RADIUS: usize = 8;
    /// The largest search radius allowed, voxels.
    pub const MOST_SEARCH_RADIUS: usize = 15;
    /// The largest allowed alpha and beta.
    pub const MOST_WEIGHTING: f64 = 1e3;

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

/// Fuses the labels of `atlases`, whose images lie on the grid of `target` (Wang et al. 2013).
///
/// A voxel where all atlases have the same label gets that label. Around every other voxel, the patch of the target is
/// compared with the most similar patch of each atlas, which a local search finds. The weights that result from a patch
/// apply to all voxels of the patch. So all patches that contain a voxel decide its label.
///
/// # Errors
/// No atlas, an atlas on another grid, or an option out of range.
pub fn joint(target: &Volume, atlases: &[Atlas], options: &JointOptions) -> Result<Fused, FusionError> {
    let first = check(target, atlases, options)?;
    let labels: Vec<&LabelVolume> = atlases.iter().map(|atlas| atlas.labels).collect();
    let grid = &target.grid;
    let open = undecided(&labels);
    let patches = Blocks::around(&dilate(&open, grid.shape, options.patch_radius), grid);
    let shifts = shifts(options.search_radius);
    let choices = choose(target, atlases, options, Sign::Any, &patches, &shifts);
    let votes = Ballot::new(grid.shape, options, &patches, &choices, &shifts).labels(&labels, &open);
    let agreed = LabelVolume { grid: grid.clone(), voxels: first.labels.voxels.clone() };
    Ok(Fused::new(agreed, votes))
}

/// Checks the options and the grids of the atlases. Returns the first atlas.
pub(super) fn check<'a>(
    target: &Volume,
    atlases: &[Atlas<'a>],
    options: &JointOptions,
) -> Result<Atlas<'a>, FusionError> {
    options.check()?;
    let first = atlases.first().ok_or(FusionError::NoAtlas)?;
    for (number, atlas) in atlases.iter().enumerate() {
        check_grid(number, &target.grid, &atlas.image.grid)?;
        check_grid(number, &target.grid, &atlas.labels.grid)?;
    }
    Ok(*first)
}

/// The patches of the target image that are compared with patches of the atlases. They are grouped in blocks of voxels.
pub(super) struct Blocks {
    /// For each block of voxels: the position of its first voxel in the image, and the numbers (counted within the
    /// block) of those voxels that have a patch around them.
    blocks: Vec<([usize; 3], Vec<u16>)>,
    /// For each voxel: the number of the patch around it, counted in the order of the blocks; `NONE` for a voxel
    /// without a patch.
    patch_of: Vec<u32>,
    count: usize,
}

const NONE: u32 = u32::MAX;

impl Blocks {
    /// The number of the patch around a voxel; `None` if the voxel has no patch.
    pub(super) fn patch_of(&self, voxel: usize) -> Option<usize> {
        Some(self.patch_of[voxel]).filter(|patch| *patch != NONE).map(|patch| patch as usize)
    }

    /// Makes one patch around every voxel where `set` is true.
    pub(super) fn around(set: &[bool], grid: &Grid) -> Blocks {
        let [nx, ny, nz] = grid.shape;
        let across: [usize; 3] = std::array::from_fn(|axis| grid.shape[axis].div_ceil(BLOCK[axis]));
        let index = |[x, y, z]: [usize; 3]| (z * ny + y) * nx + x;
        let blocks: Vec<([usize; 3], Vec<u16>)> = (0..across.iter().product())
            .into_par_iter()
            .map(|block: usize| {
                let at = [block % across[0], block / across[0] % across[1], block / (across[0] * across[1])];
                let start: [usize; 3] = std::array::from_fn(|axis| at[axis] * BLOCK[axis]);
                let counts = |number: &u16| {
                    let [x, y, z] = voxel(start, usize::from(*number));
                    x < nx && y < ny && z < nz && set[index([x, y, z])]
                };
                (start, (0..BLOCK_LEN as u16).filter(counts).collect())
            })
            .filter(|(_, voxels): &([usize; 3], Vec<u16>)| !voxels.is_empty())
            .collect();
        let mut patch_of = vec![NONE; set.len()];
        let mut count = 0;
        for (start, voxels) in &blocks {
            for number in voxels {
                patch_of[index(voxel(*start, usize::from(*number)))] = count as u32;
                count += 1;
            }
        }
        Blocks { blocks, patch_of, count }
    }
}

/// Position in the target image of voxel `number` of a block. The first voxel of the block is at `start`.
fn voxel(start: [usize; 3], number: usize) -> [usize; 3] {
    let place = place(number);
    std::array::from_fn(|axis| start[axis] + place[axis])
}

/// For each patch and each atlas: the index of the chosen shift in the list of shifts, and the weight of the atlas.
pub(super) struct Choices {
    pub(super) shift: Vec<u16>,
    pub(super) weight: Vec<f32>,
}

/// Buffers of one thread for one block of voxels, reused from block to block.
#[derive(Default)]
struct Scratch {
    target: (Region, Patches),
    atlases: Vec<(Region, Patches)>,
    found: Vec<Search>,
    differences: Differences,
}

/// The work for one block of target voxels: its patches, and the output buffers for the chosen shifts and the weights
/// of the atlases.
struct Task<'a> {
    /// Position of the first voxel of the block in the image.
    start: [usize; 3],
    /// Numbers of the block's voxels that have a patch, counted within the block.
    voxels: &'a [u16],
    /// Output buffers: for each voxel in `voxels` and each atlas, the index of the chosen shift and the weight of the
    /// atlas.
    chosen: &'a mut [u16],
    weights: &'a mut [f32],
}

/// For every patch of the target image, finds the best shift of each atlas's patch and the weight of each atlas.
pub(super) fn choose(
    target: &Volume,
    atlases: &[Atlas],
    options: &JointOptions,
    sign: Sign,
    patches: &Blocks,
    shifts: &[[i32; 3]],
) -> Choices {
    let count = atlases.len();
    let mut choices = Choices { shift: vec![0; patches.count * count], weight: vec![0.0; patches.count * count] };
    let (mut shift, mut weight) = (&mut choices.shift[..], &mut choices.weight[..]);
    let mut tasks = Vec::with_capacity(patches.blocks.len());
    for (start, voxels) in &patches.blocks {
        let (chosen, weights);
        (chosen, shift) = std::mem::take(&mut shift).split_at_mut(voxels.len() * count);
        (weights, weight) = std::mem::take(&mut weight).split_at_mut(voxels.len() * count);
        tasks.push(Task { start: *start, voxels, chosen, weights });
    }
    let target = Scaled::new(target);
    let images = atlases.iter().map(|atlas| Scaled::new(atlas.image)).collect();
    let comparison = Comparison { target, images, options, sign, shifts };
    tasks.into_par_iter().for_each_init(Scratch::default, |scratch, task| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || comparison.block(scratch, task),
        );
    });
    choices
}

/// The target, the atlas images and the parameters that are the same for all blocks.
struct Comparison<'a> {
    target: Scaled<'a>,
    images: Vec<Scaled<'a>>,
    options: &'a JointOptions,
    sign: Sign,
    shifts: &'a [[i32; 3]],
}

impl Comparison<'_> {
    /// Finds the best shifts and the weights of the atlases for one block of voxels.
    #[inline(always)]
    fn block(&self, scratch: &mut Scratch, Task { start, voxels, chosen, weights }: Task) {
        let Comparison { target, images, options, sign, shifts } = self;
        let (radius, width) = (options.search_radius, 2 * options.patch_radius + 1);
        let Scratch { target: here, atlases: there, found, differences } = scratch;
        here.0.read(target, start, options.patch_radius, BLOCK.map(|extent| extent + width - 1));
        here.1.measure(&here.0, width);
        there.resize_with(images.len(), Default::default);
        found.resize_with(images.len(), Default::default);
        for ((image, atlas), found) in images.iter().zip(there.iter_mut()).zip(found.iter_mut()) {
            let margin = options.patch_radius + radius;
            atlas.0.read(image, start, margin, BLOCK.map(|extent| extent + 2 * margin));
            atlas.1.measure(&atlas.0, width);
            found.run((&here.0, &here.1), (&atlas.0, &atlas.1), width, radius, shifts);
        }
        let each = chosen.chunks_exact_mut(images.len()).zip(weights.chunks_exact_mut(images.len()));
        for (number, (chosen, weights)) in voxels.iter().map(|number| usize::from(*number)).zip(each) {
            for (chosen, found) in chosen.iter_mut().zip(found.iter()) {
                *chosen = found.best[number] as u16;
            }
            let offset = |shift: &u16| shifts[usize::from(*shift)].map(|along| (along + radius as i32) as usize);
            let shifted = there.iter().map(View::from).zip(chosen.iter().map(offset));
            differences.take(place(number), width, View::from(&*here), shifted);
            let errors = differences.errors(images.len(), options.alpha, options.beta);
            for (weight, solved) in weights.iter_mut().zip(solve(errors, *sign).iter()) {
                *weight = *solved as f32;
            }
        }
    }
}
