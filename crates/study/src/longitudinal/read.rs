//! Reads the time points, extracts their brains, and puts them into an order that depends on their contents alone.

use std::sync::Arc;

use antsreg_cohort::template::{brighter, foreground_in};
use antsreg_core::{Grid, LabelVolume, Volume};
use antsreg_heads::brain::{Kind, kind, mask_of_brain, without_skull};
use antsreg_register::{Device, Side};
use nalgebra::Point3;
use sha2::{Digest, Sha256};

use super::{Brains, Error, TimePoint};
use crate::observer::{Event, Observer, RunWarning};
use crate::skulls::{ExtractedRecord, Skull};
use crate::{brain, inputs};

/// A time point as read.
#[derive(Debug)]
pub struct AsRead {
    /// Index in the list of time points.
    pub point: usize,
    /// The image.
    pub image: Arc<Volume>,
    /// The mask of the brain, if it was given.
    mask: Option<Arc<Volume>>,
    /// The label map.
    pub labels: Option<LabelVolume>,
    /// Digest of grid and voxels of the image.
    pub digest: String,
}

/// A time point ready to be registered.
#[derive(Debug)]
pub struct Image {
    /// Index in the list of time points.
    pub point: usize,
    /// The image as read.
    pub whole: Arc<Volume>,
    /// The image that is aligned: the brain of a head with a brain mask, else the image as read.
    pub brain: Arc<Volume>,
    /// The mask of the brain.
    pub mask: Arc<Volume>,
    /// Whether the image shows more than the brain, so that the mask of all time points is applied to it.
    pub beyond_brain: bool,
    /// The centre of the brain, RAS mm.
    pub centre: Point3<f64>,
    /// Mean intensity in the brain.
    pub mean: f64,
    /// The label map.
    pub labels: Option<LabelVolume>,
    /// Digest of grid and voxels of the image.
    pub digest: String,
    /// The brain extraction, if there was one.
    pub extracted: Option<ExtractedRecord>,
}

/// Reads the files of all time points. They come back in the order of the digests of their images.
///
/// # Errors
/// Files that cannot be read; masks and labels on other grids; slices.
pub fn read(points: &[TimePoint]) -> Result<Vec<AsRead>, crate::Error> {
    let read_one = |(point, of): (usize, &TimePoint)| {
        let image = inputs::image(&of.image)?;
        if image.grid.is_slice() {
            return Err(Error::Slice { path: of.image.clone() }.into());
        }
        let mask = of.mask.as_ref().map(|path| inputs::mask(path, &of.image, &image.grid)).transpose()?;
        let labels = of.labels.as_ref().map(|path| inputs::labels_of(path, &of.image, &image.grid)).transpose()?;
        let digest = digest(&image);
        Ok(AsRead { point, image: Arc::new(image), mask: mask.map(Arc::new), labels, digest })
    };
    let mut read = points.iter().enumerate().map(read_one).collect::<Result<Vec<AsRead>, crate::Error>>()?;
    read.sort_by(|a, b| (&a.digest, &points[a.point].name).cmp(&(&b.digest, &points[b.point].name)));
    Ok(read)
}

/// The SHA-256 digest of the grid and the voxels of an image, in hexadecimal.
fn digest(image: &Volume) -> String {
    let Grid { shape, spacing, origin, direction } = &image.grid;
    let mut sha = Sha256::new();
    shape.iter().for_each(|count| sha.update((*count as u64).to_le_bytes()));
    let numbers = spacing.iter().chain(origin.iter()).chain(direction.iter());
    numbers.for_each(|number| sha.update(number.to_le_bytes()));
    for part in image.voxels.chunks(1 << 14) {
        let bytes: Vec<u8> = part.iter().flat_map(|value| value.to_le_bytes()).collect();
        sha.update(bytes);
    }
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl AsRead {
    /// Finds the brain of a time point, on a device if the image is a head without a mask.
    ///
    /// # Errors
    /// A head whose brain cannot be found; a registration that was stopped.
    pub fn with_brain(
        self,
        points: &[TimePoint],
        brains: Brains,
        device: &Device,
        observer: &mut dyn Observer,
    ) -> Result<Image, crate::Error> {
        let AsRead { point, image, mask, labels, digest } = self;
        let (mut extracted, mut beyond_brain) = (None, mask.is_some());
        let kind = kind(&image);
        let mask = match mask {
            Some(mask) => mask,
            None if brains == Brains::Auto && kind == Kind::Head => {
                let path = &points[point].image;
                let template = brain::built_in_template(None)?;
                let mut side = Side::new(image.clone());
                let skull = Skull::remove(path, &mut side, &template, device, observer.progress())?;
                observer.tell(&Event::Step(&format!(
                    "{}: brain of {:.0} cm³ extracted",
                    points[point].name, skull.record.volume_cm3
                )));
                for text in &skull.record.warnings {
                    observer.tell(&Event::Warning(&RunWarning::Image { path: path.clone(), text: text.clone() }));
                }
                beyond_brain = true;
                extracted = Some(skull.record);
                skull.mask
            }
            None if kind == Kind::Brain => Arc::new(mask_of_brain(&image)),
            None => Arc::new(brighter(&image, foreground_in(&image))),
        };
        let brain = if beyond_brain { Arc::new(without_skull(&image, &mask)) } else { image.clone() };
        let centre = mask.centre_of_mass().unwrap_or_else(|| mask.grid.centre());
        let mean = mean_inside(&image, &mask);
        Ok(Image { point, whole: image, brain, mask, beyond_brain, centre, mean, labels, digest, extracted })
    }
}

/// Mean of an image where the mask is above ½; 1 where that is no positive number, so that nothing is scaled.
fn mean_inside(image: &Volume, mask: &Volume) -> f64 {
    let inside = image.voxels.iter().zip(&mask.voxels).filter(|(_, mask)| **mask > 0.5);
    let (sum, count) = inside.fold((0.0, 0_u64), |(sum, count), (value, _)| (sum + f64::from(*value), count + 1));
    let mean = sum / count as f64;
    if mean > 0.0 && mean.is_finite() { mean } else { 1.0 }
}
