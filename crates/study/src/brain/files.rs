//! Output files of a brain extraction.

use std::path::Path;

use antsreg_core::Volume;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{Outputs, Writing, write_file};
use antsreg_heads::brain::{self, Extraction};

use crate::Error;

/// The output files of a brain extraction; `None` for a file that is not written.
#[derive(Debug, Clone, Copy, Default)]
pub struct BrainFiles<'a> {
    /// File of the image with 0 outside the brain.
    pub image: Option<&'a Path>,
    /// File of the brain mask.
    pub mask: Option<&'a Path>,
    /// File of the probability of brain at each voxel, 0 to 1.
    pub probability: Option<&'a Path>,
}

impl<'a> BrainFiles<'a> {
    /// Paths of the files that the brain extraction will write.
    pub fn paths(&self) -> impl Iterator<Item = &'a Path> + use<'a> {
        [self.image, self.mask, self.probability].into_iter().flatten()
    }

    /// Writes the output files of a brain extraction for which a path was given, and the HTML page, given as its path
    /// and its text. Writes all files or none.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, head: &Volume, found: &Extraction, page: Option<(&Path, String)>) -> Result<(), Error> {
        let image = self.image.map(|path| {
            let value = |n: usize| brain::value_without_skull(head.voxels[n], found.mask.voxels[n]);
            let write: Writing<Error> = Box::new(move |path| Ok(nifti::write_values(path, &head.grid, value)?));
            (path, write)
        });
        let volumes = [(self.mask, &found.mask), (self.probability, &found.probability)];
        let volumes = volumes.into_iter().filter_map(|(path, volume)| {
            let write: Writing<Error> = Box::new(|path| Ok(nifti::write_volume(path, volume)?));
            Some((path?, write))
        });
        let mut outputs = Outputs::new();
        outputs.write_all(image.into_iter().chain(volumes).collect())?;
        if let Some((path, html)) = &page {
            outputs.write::<Error>(path, |path| Ok(write_file(path, html.as_bytes())?))?;
        }
        outputs.commit()?;
        Ok(())
    }
}
