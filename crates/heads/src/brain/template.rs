//! A head whose brain is known.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use antsreg_core::{Grid, Volume};
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

use super::Error;
use super::distance::distance_mm;
use super::packed::unpack;

/// The contrast of a head's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contrast {
    /// T1-weighted.
    T1,
    /// T2-weighted.
    T2,
    /// Proton density, to which FLAIR is most alike.
    Pd,
    /// That of a template which is not built in.
    Given,
}

impl Display for Contrast {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Contrast::T1 => "T1",
            Contrast::T2 => "T2",
            Contrast::Pd => "PD",
            Contrast::Given => "given",
        })
    }
}

/// A head, in one contrast or more on one grid, and its brain.
#[derive(Debug, Clone)]
pub struct Template {
    /// Never empty.
    heads: Vec<(Contrast, Arc<Volume>)>,
    brain: Arc<Volume>,
    near: Arc<Volume>,
}

/// What is near the brain, mm: its coverings, and the inner table of the skull.
const NEAR_MM: f32 = 12.0;

/// The grid of the built-in template: voxels, their size in mm, the centre of the first one in MNI space (RAS mm).
const SHAPE: [usize; 3] = [97, 115, 97];
const SPACING_MM: f64 = 2.0;
const ORIGIN: [f64; 3] = [-96.5, -132.5, -78.5];
/// Parts of which the built-in shares of brain are counted.
const SHARES: f32 = 16.0;
const T1: &[u8] = include_bytes!("../../template/head_t1.bin");
const T2: &[u8] = include_bytes!("../../template/head_t2.bin");
const PD: &[u8] = include_bytes!("../../template/head_pd.bin");
const BRAIN: &[u8] = include_bytes!("../../template/brain.bin");

impl Template {
    /// The head of MNI ICBM 152 2009c asymmetric (MNI152NLin2009cAsym) at 2 mm: of one contrast, or T1, T2 and PD, of which an
    /// extraction takes the one that the image is most alike.
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
        let heads = contrasts.into_iter().map(head).collect::<Result<_, Error>>()?;
        Ok(Template::of(heads, unpack(BRAIN, grid.clone(), SHARES)?))
    }

    /// A head, and the mask of its brain (above 0.5) or the share of each voxel that is brain, on one grid.
    ///
    /// # Errors
    /// [`Error::TemplateGrid`], [`Error::TemplateEmpty`].
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

    /// The head in its first contrast: T1 of the built-in template, unless another was asked for.
    pub fn head(&self) -> &Arc<Volume> {
        &self.heads[0].1
    }

    /// The head in every contrast, on one grid.
    pub fn heads(&self) -> &[(Contrast, Arc<Volume>)] {
        &self.heads
    }

    /// The share of each voxel that is brain, 0 to 1, on the grid of the head.
    pub fn brain(&self) -> &Arc<Volume> {
        &self.brain
    }

    /// 1 in the brain and at most 12 mm from it, else 0, on the grid of the head.
    pub fn near(&self) -> &Arc<Volume> {
        &self.near
    }

    fn of(heads: Vec<(Contrast, Arc<Volume>)>, brain: Volume) -> Template {
        let inside: Vec<bool> = brain.voxels.iter().map(|share| *share > 0.5).collect();
        let distance = distance_mm(&brain.grid, &inside);
        let voxels = distance.into_iter().map(|mm| if mm <= NEAR_MM { 1.0 } else { 0.0 }).collect();
        let near = Volume { grid: brain.grid.clone(), voxels };
        Template { heads, brain: Arc::new(brain), near: Arc::new(near) }
    }
}
