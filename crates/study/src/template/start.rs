//! The template before the first pass: a subject, an average, or given images.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_cohort::template::grid_around;
use antsreg_core::io::{nifti, outputs};
use antsreg_core::{Grid, LabelVolume, TransformChain, Volume};
use antsreg_kernels::apply;

use super::Error as TemplateError;
use super::brains::{self, Brains};
use super::channels::{Channels, read_channels};
use super::content::{Content, write_all};
use super::manifest::Manifest;
use super::pictures::PictureOf;
use super::plan::StartFrom;
use super::progress::TemplateProgress;
use super::reference::Reference;
use super::session::Session;
use crate::skulls::ExtractedRecord;
use crate::{Error, memory};

/// The first template, not yet written.
pub struct FirstTemplate {
    /// The extracted brains: name of the subject, brain mask, and results of the extraction. The mask is `None` for the
    /// initial template, because no later step reads the images of this template again.
    brains: Vec<(String, Option<LabelVolume>, ExtractedRecord)>,
    /// The template, with grid and values as they will be read from its files.
    pub reference: Arc<Reference>,
    /// The template's grid without the rounding of its file's header.
    grid: Grid,
}

/// Makes the first template, unless its files exist, and extracts the brains of `heads`, the subjects whose brain is
/// registered instead of the whole head. Writes no files, because opening a device may still fail.
///
/// # Errors
/// Images that cannot be read; a head whose brain cannot be found; too little memory for the template.
pub fn make(
    session: &Session,
    heads: Vec<(usize, Channels)>,
    progress: &mut dyn TemplateProgress,
) -> Result<Option<FirstTemplate>, Error> {
    if session.start_stage().done()?.is_some() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for (subject, images) in heads {
        let planned = session.subject(subject);
        let (images, skull) = brains::extract(&planned.name, &planned.images[0].path, images, progress)?;
        found.push((planned.name.clone(), Some(brains::as_labels(&skull.mask)), skull.record));
        session.keep_brain(subject, images, skull.mask);
    }
    let mut images: Vec<Volume> = match &session.plan.start {
        StartFrom::Images(files) => {
            let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
            let mut images = read_channels(&paths, false)?;
            if session.plan.start_brain {
                let (brain, skull) = brains::extract(brains::START, &paths[0], images, progress)?;
                found.push((brains::START.into(), None, skull.record));
                images = brain;
            }
            check_size(&images[0].grid, images.len())?;
            images.into_iter().map(Arc::unwrap_or_clone).collect()
        }
        StartFrom::Subject(name) | StartFrom::AverageOnto(name) => {
            let images = session.images(session.position(name)?)?;
            let grid = grid_around(&images[0], session.plan.options.margin_mm);
            check_size(&grid, images.len())?;
            // The template's grid is the subject's grid with a margin: its voxels coincide with voxels of the subject's
            // image, so no value is interpolated.
            let linear = apply::Interpolation::Linear;
            let onto = |image: &Arc<Volume>| apply::resample(image, &grid, &TransformChain::new(), linear, 0.0);
            images.iter().map(onto).collect()
        }
    };
    let grid = images[0].grid.clone();
    let stored = session.set_grid(nifti::stored_grid(&session.layout.template(None).images[0], &grid)?);
    images.iter_mut().for_each(|image| image.grid = stored.clone());
    Ok(Some(FirstTemplate { reference: Arc::new(Reference::new(images)), grid, brains: found }))
}

/// Checks that there is enough memory for the template before memory is allocated: a wide margin around an image with
/// small voxels gives many voxels.
fn check_size(grid: &Grid, channels: usize) -> Result<(), TemplateError> {
    check_size_within(grid, channels, memory::available())
}

fn check_size_within(grid: &Grid, channels: usize, available: Option<u64>) -> Result<(), TemplateError> {
    /// Number of bytes in memory of one value: an intensity or a component of a displacement.
    const SCALAR: f64 = 4.0;
    /// Number of scalars per voxel of the displacement fields in memory, three for each field: a subject's warp, the
    /// mean warp and the shape update.
    const FIELDS: usize = 3 * 3;
    // The number of voxels may overflow an integer.
    let voxels: f64 = grid.shape.iter().map(|voxels| *voxels as f64).product();
    // For each channel, three images are in memory at a time: the template's, the average and one subject's.
    let bytes = SCALAR * voxels * (FIELDS + 3 * channels) as f64;
    match available {
        Some(available) if bytes > available as f64 => {
            let (needed_mb, free_mb) = ((bytes / 1e6).ceil() as u64, available / 1_000_000);
            Err(TemplateError::TooLarge { shape: grid.shape, needed_mb, free_mb })
        }
        _ => Ok(()),
    }
}

/// Writes the files of the first template. Returns the function that writes the manifest.
///
/// # Errors
/// A file that cannot be written.
pub fn write<'a>(
    session: &'a Session,
    first: &FirstTemplate,
) -> Result<impl FnOnce() -> Result<Manifest, Error> + Send + use<'a>, Error> {
    outputs::make_folder(&session.layout.start())?;
    let files = session.layout.template(None);
    let unrounded = |image: &Arc<Volume>| Volume { grid: first.grid.clone(), voxels: image.voxels.clone() };
    let images: Vec<Volume> = first.reference.images.iter().map(unrounded).collect();
    let mut outputs: Vec<_> =
        files.images.iter().map(PathBuf::as_path).zip(images.iter().map(Content::Image)).collect();
    let masks = first.brains.iter().filter_map(|(name, mask, _)| Some((session.layout.brain(name), mask.as_ref()?)));
    let masks: Vec<(PathBuf, &LabelVolume)> = masks.collect();
    outputs.extend(masks.iter().map(|(path, mask)| (path.as_path(), Content::Labels(mask))));
    session.pictures.draw(PictureOf::Template(None), &images[0])?;
    let written = write_all(&session.layout, &outputs)?;
    let brains = first.brains.iter().map(|(name, _, brain)| (name.clone(), brain.clone())).collect();
    let found = session.has_brains().then_some(Brains { brains });
    Ok(move || session.start_stage().finish(None, written, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_that_does_not_fit_into_memory_is_refused() {
        let check = |shape, available| check_size_within(&Grid::axis_aligned(shape, [1.0; 3]), 2, Some(available));
        // A template with two channels takes 15 scalars of 4 bytes per voxel: three displacement fields with three
        // components, and three images for each channel.
        assert!(check([100, 100, 100], 60_000_000).is_ok());
        let message = check([100, 100, 100], 59_999_999).expect_err("refused").to_string();
        assert!(message.contains("100 × 100 × 100 voxels") && message.contains("60 MB"), "{message}");
        assert!(message.contains("59 MB are free"), "{message}");
        assert!(check([400_000_000; 3], u64::MAX).is_err(), "more voxels than an integer holds");
    }
}
