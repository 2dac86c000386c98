//! The images of one subject or template, one for each channel, on one grid.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_heads::brain::without_skull;

use crate::{Error, inputs};

/// The images of one subject or template, one image for each channel.
pub type Channels = Vec<Arc<Volume>>;

/// Reads the channels of one subject or of a template; removes their shading if `corrected` is true. All channels
/// must lie on one grid.
///
/// # Errors
/// A file that cannot be read or lies on another grid.
pub fn read_channels(paths: &[PathBuf], corrected: bool) -> Result<Channels, Error> {
    let mut volumes: Channels = Vec::with_capacity(paths.len());
    for path in paths {
        let mut volume = inputs::prepared_image(path, corrected)?;
        if let Some(first) = volumes.first() {
            inputs::check_grid(path, &volume.grid, &paths[0], &first.grid, "linear")?;
            volume.grid = first.grid.clone();
        }
        volumes.push(Arc::new(volume));
    }
    Ok(volumes)
}

/// Sets the images of a head to 0 outside a mask on their grid.
pub fn masked(images: Channels, mask: &Volume) -> Channels {
    images.into_iter().map(|image| Arc::new(without_skull(&image, mask))).collect()
}
