//! Other images of the same head as a scan (such as T2w or FLAIR), and the rigid transforms from the scan to these
//! images.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_core::{AffineTransform, Volume};
use antsreg_pool::Worker;
use antsreg_register::linear::Start;
use antsreg_register::{Grids, Options, Preset, Recipe, Registered, Side, register};

use crate::Error;
use crate::pair::{CarriedRecord, StartFile, name_files};

/// Another image of the same head as a scan, rigidly aligned with the scan.
#[derive(Debug)]
pub struct Carried {
    /// Path of the image.
    pub path: PathBuf,
    /// The BIDS suffix, such as `T2w`, in the names of the images that are derived from this image.
    pub suffix: String,
    /// The image.
    pub image: Arc<Volume>,
    /// Rigid transform from points of the scan to points of the image, RAS mm.
    pub rigid: AffineTransform,
}

impl Carried {
    /// Returns the path of this other image of the head, and its rigid transform from the scan, for the JSON record.
    pub fn record(&self) -> CarriedRecord {
        let matrix = self.rigid.to_homogeneous();
        let rows = std::array::from_fn(|row| std::array::from_fn(|column| matrix[(row, column)]));
        CarriedRecord { path: self.path.clone(), rigid_ras: rows }
    }
}

/// The options of a rigid registration by normalised mutual information. The initial transform is the identity:
/// positions in the headers of both images are taken as they are.
fn options(scan: &Side) -> Result<Options, Error> {
    let recipe = Recipe { start: Start::Headers, images: None, ..Recipe::new(Preset::Multimodal) };
    Ok(recipe.options(scan.grid().shape)?)
}

/// Aligns another image of a head with the scan of this head. Returns the rigid map from points of the scan to points
/// of the image, RAS mm.
///
/// # Errors
/// Images that do not overlap; a device that fails.
pub fn align(
    worker: &mut Worker,
    scan: &Arc<Volume>,
    image: &Arc<Volume>,
    names: [&Path; 2],
) -> Result<AffineTransform, Error> {
    let sides = [scan, image].map(|image| Side::new(image.clone()));
    let options = options(&sides[0])?;
    let bytes = options.device_bytes(&Grids::of([&sides[0], &sides[1]]));
    let found = worker.with_device(bytes, |device| {
        register(&sides[0], &sides[1], &options, device, &mut ()).and_then(Registered::finish)
    });
    let grids = [&scan.grid, &image.grid];
    Ok(found.map_err(|error| name_files(error, names, grids, &StartFile::Headers))?.affine)
}
