//! A head whose brain is known.

use std::io::Read;
use std::sync::Arc;

use antsreg_core::{Grid, Volume};
use flate2::read::GzDecoder;
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

use super::Error;
use super::distance::distance_mm;

/// The contrast of a head's image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contrast {
    /// T1-weighted.
    T1,
    /// T2-weighted.
    T2,
    /// Proton density.
    Pd,
    /// That of a template which is not built in.
    Given,
}

/// A head, in one contrast or more, and its brain.
#[derive(Debug, Clone)]
pub struct Template {
    pub(super) heads: Vec<(Contrast, Arc<Volume>)>,
    /// The share of each voxel that is brain, 0 to 1.
    pub(super) brain: Arc<Volume>,
    /// 1 in the brain and near it.
    pub(super) near: Arc<Volume>,
}

/// What is near the brain, mm: its coverings, and the inner table of the skull.
const NEAR_MM: f32 = 12.0;

/// The MNI ICBM 152 2009c asymmetric head, nonlinear, at 2 mm. Its notice lies beside the files.
const SHAPE: [usize; 3] = [97, 115, 97];
const SPACING_MM: f64 = 2.0;
const ORIGIN: [f64; 3] = [-96.5, -132.5, -78.5];
const T1: &[u8] = include_bytes!("../../template/head_t1.nii.gz");
const T2: &[u8] = include_bytes!("../../template/head_t2.nii.gz");
const PD: &[u8] = include_bytes!("../../template/head_pd.nii.gz");
const BRAIN: &[u8] = include_bytes!("../../template/brain.nii.gz");
/// Bytes before the voxels of these files.
const HEADER: usize = 352;

impl Template {
    /// The head of MNI ICBM 152 2009c, in T1, T2 and PD.
    ///
    /// # Errors
    /// None unless the program's file is damaged.
    pub fn built_in() -> Result<Template, Error> {
        let head = |contrast, bytes| Ok::<_, Error>((contrast, Arc::new(unpack(bytes, 1.0)?)));
        let heads = vec![head(Contrast::T1, T1)?, head(Contrast::T2, T2)?, head(Contrast::Pd, PD)?];
        Ok(Template::of(heads, unpack(BRAIN, 1.0 / 255.0)?))
    }

    /// A head and the mask of its brain (above 0.5), on one grid.
    ///
    /// # Errors
    /// Another grid; an empty mask.
    pub fn new(head: Volume, brain: Volume) -> Result<Template, Error> {
        if head.grid.shape != brain.grid.shape {
            let shapes = [head.grid.shape, brain.grid.shape];
            return Err(Error::Template(format!("the head has {:?} voxels, the mask {:?}", shapes[0], shapes[1])));
        }
        if brain.voxels.iter().all(|share| *share <= 0.5) {
            return Err(Error::Template("the mask of its brain is empty, expected voxels above 0.5".into()));
        }
        let brain = Volume { grid: head.grid.clone(), voxels: brain.voxels };
        Ok(Template::of(vec![(Contrast::Given, Arc::new(head))], brain))
    }

    /// The image of the head in its first contrast: T1 of the one that is built in.
    pub fn head(&self) -> &Arc<Volume> {
        &self.heads[0].1
    }

    /// The share of each voxel that is brain, 0 to 1, on the grid of the head.
    pub fn brain(&self) -> &Arc<Volume> {
        &self.brain
    }

    fn of(heads: Vec<(Contrast, Arc<Volume>)>, brain: Volume) -> Template {
        let inside: Vec<bool> = brain.voxels.iter().map(|share| *share > 0.5).collect();
        let distance = distance_mm(&brain.grid, &inside);
        let voxels = distance.into_iter().map(|mm| if mm <= NEAR_MM { 1.0 } else { 0.0 }).collect();
        let near = Volume { grid: brain.grid.clone(), voxels };
        Template { heads, brain: Arc::new(brain), near: Arc::new(near) }
    }
}

/// A volume of bytes out of a compressed file of the template.
fn unpack(bytes: &[u8], scale: f32) -> Result<Volume, Error> {
    let mut grid = Grid::axis_aligned(SHAPE, [SPACING_MM; 3]);
    grid.origin = Point3::from(ORIGIN);
    let mut file = Vec::with_capacity(HEADER + grid.len());
    GzDecoder::new(bytes).read_to_end(&mut file).map_err(|error| Error::Template(error.to_string()))?;
    if file.len() != HEADER + grid.len() {
        return Err(Error::Template(format!("{} bytes, expected {}", file.len(), HEADER + grid.len())));
    }
    Ok(Volume { voxels: file[HEADER..].iter().map(|byte| f32::from(*byte) * scale).collect(), grid })
}
