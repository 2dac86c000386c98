//! Templates for brain extraction: heads whose brain is known.

use std::sync::Arc;

use antsreg_core::{Grid, Volume};
use antsreg_kernels::DistanceLimits;
use antsreg_kernels::cpu::signed_distance;
use nalgebra::Point3;
use rayon::prelude::*;

use super::contrast::Contrast;
use super::error::Error;
use super::packed::unpack;

/// Template for brain extraction: images of one head in one or more contrasts, and the brain of this head, on one grid.
#[derive(Debug, Clone)]
pub struct Template {
    /// Images of the head with their contrasts; at least one.
    heads: Vec<(Contrast, Arc<Volume>)>,
    brain: Arc<Volume>,
    near: Arc<Volume>,
    deep: Arc<Volume>,
}

/// Distance from the brain up to which voxels belong to the region near the brain, mm. The region contains the meninges
/// and the inner table of the skull.
const NEAR_MM: f32 = 12.0;

/// Depth inside the template's brain from which on voxels are assumed to be brain in an image after registration of the
/// whole heads, mm.
const DEEP_MM: f32 = 6.0;

/// Grid of the built-in template: number of voxels, voxel size in mm, and centre of the first voxel in MNI space (RAS
/// mm).
const SHAPE: [usize; 3] = [97, 115, 97];
const SPACING_MM: f64 = 2.0;
const ORIGIN: [f64; 3] = [-96.5, -132.5, -78.5];
/// For each voxel, the built-in file stores which share of the voxel is brain, in steps of 1 / `SHARES`.
const SHARES: f32 = 16.0;
const T1: &[u8] = include_bytes!("../../template/head_t1.bin");
const T2: &[u8] = include_bytes!("../../template/head_t2.bin");
const PD: &[u8] = include_bytes!("../../template/head_pd.bin");
const BRAIN: &[u8] = include_bytes!("../../template/brain.bin");

impl Template {
    /// Makes the built-in template: the head of MNI ICBM 152 2009c asymmetric (MNI152NLin2009cAsym) at 2 mm, in the
    /// given contrast, or in T1, T2 and PD. Of these, brain extraction takes the contrast that is most similar to the
    /// image.
    ///
    /// # Errors
    /// [`Error::NoContrast`] for [`Contrast::Given`]; [`Error::Damaged`] if the program's file is damaged.
    pub fn built_in(contrast: Option<Contrast>) -> Result<Template, Error> {
        let mut grid = Grid::axis_aligned(SHAPE, [SPACING_MM; 3]);
        grid.origin = Point3::from(ORIGIN);
        let contrasts = contrast.map_or_else(|| vec![Contrast::T1, Contrast::T2, Contrast::Pd], |one| vec![one]);
        let head = |contrast| {
            let packed = match contrast {
                Contrast::T1 => T1,
                Contrast::T2 => T2,
                Contrast::Pd => PD,
                Contrast::Given => return Err(Error::NoContrast(contrast)),
            };
            Ok((contrast, Arc::new(unpack(packed, grid.clone(), 1.0)?)))
        };
        let heads = || contrasts.into_par_iter().map(head).collect::<Result<_, Error>>();
        let (heads, brain) = rayon::join(heads, || unpack(BRAIN, grid.clone(), SHARES));
        Ok(Template::of(heads?, brain?))
    }

    /// Makes a template from an image of a head and the mask of its brain (above 0.5), or the share of each voxel that
    /// is brain, on one grid.
    ///
    /// # Errors
    /// [`Error::TemplateGrid`] if the grids differ in shape, [`Error::TemplateEmpty`] if no voxel is brain.
    pub fn new(head: Volume, brain: Volume) -> Result<Template, Error> {
        if head.grid.shape != brain.grid.shape {
            return Err(Error::TemplateGrid { head: head.grid.shape, mask: brain.grid.shape });
        }
        if brain.voxels.iter().all(|share| *share <= 0.5) {
            return Err(Error::TemplateEmpty);
        }
        let brain = Volume { grid: head.grid.clone(), voxels: brain.voxels };
        Ok(Template::of(vec![(Contrast::Given, Arc::new(head))], brain))
    }

    /// Image of the head in the template's first contrast: T1 for the built-in template, unless another contrast was
    /// chosen.
    pub fn head(&self) -> &Arc<Volume> {
        &self.heads[0].1
    }

    /// Images of the head in every contrast of the template, on one grid.
    pub fn heads(&self) -> &[(Contrast, Arc<Volume>)] {
        &self.heads
    }

    /// Share of each voxel that is brain, 0 to 1, on the grid of the head.
    pub fn brain(&self) -> &Arc<Volume> {
        &self.brain
    }

    /// Mask of the brain and the voxels at most 12 mm from it: 1 there, else 0, on the grid of the head.
    pub fn near(&self) -> &Arc<Volume> {
        &self.near
    }

    /// Mask of the voxels inside the brain at least 6 mm from its edge: 1 there, else 0, on the grid of the head.
    pub(super) fn deep(&self) -> &Arc<Volume> {
        &self.deep
    }

    fn of(heads: Vec<(Contrast, Arc<Volume>)>, brain: Volume) -> Template {
        let inside: Vec<bool> = brain.voxels.iter().map(|share| *share > 0.5).collect();
        // Voxels are compared with thresholds of their distance from the brain's edge. So distances are computed up to
        // 1 mm beyond these thresholds.
        let limits = DistanceLimits { inside_mm: DEEP_MM + 1.0, outside_mm: NEAR_MM + 1.0 };
        let depth = signed_distance(brain.grid.shape, brain.grid.spacing.into(), &inside, limits);
        let beyond = |least: f32| {
            let voxels = depth.iter().map(|mm| if *mm >= least { 1.0 } else { 0.0 }).collect();
            Arc::new(Volume { grid: brain.grid.clone(), voxels })
        };
        let (near, deep) = (beyond(-NEAR_MM), beyond(DEEP_MM));
        Template { heads, brain: Arc::new(brain), near, deep }
    }
}
