//! Images of ANTs' commands on single images: scalar images, series, and images of vectors, in files.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{GridRule, Planes, PlanesFile, PlanesReader, Stored};
use antsreg_core::io::outputs;
use antsreg_core::{Grid, Volume};
use antsreg_study::transforms::is_image_output;

/// An image of one or more volumes on one grid.
#[derive(Debug, Clone)]
pub struct Image {
    /// The grid of each volume.
    pub grid: Grid,
    /// The voxels of all volumes, one volume after the other.
    pub voxels: Vec<f32>,
    /// Meaning of the volumes.
    pub planes: Planes,
}

impl Image {
    /// Reads an image of any type. With fewer than four `dimensions`, only the first volume of a series is read, as by
    /// ITK. Missing voxels (NaN, infinity) are 0.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(path: &Path, dimensions: u8) -> Result<Image, CliError> {
        Image::read_by(path, dimensions, false)
    }

    /// Reads an image as [`Image::read`] does. With `keeps_missing`, missing voxels are as they are stored.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read_by(path: &Path, dimensions: u8, keeps_missing: bool) -> Result<Image, CliError> {
        let mut reader = PlanesReader::open(GridRule::Itk, path)?;
        if keeps_missing {
            reader.keep_missing();
        }
        let [volumes, components] = reader.counts();
        let (count, planes) = match (volumes, components) {
            (1, 1) => (1, Planes::One),
            (1, components) => (components, Planes::Vectors),
            (_, 1) if dimensions < 4 => (1, Planes::One),
            (volumes, 1) => (volumes, Planes::Series(reader.timing())),
            _ => {
                return Err(
                    Refusal::not_served(path.display(), "use an image with at most four axes or of vectors").into()
                );
            }
        };
        let mut voxels = Vec::new();
        for _ in 0..count {
            voxels.append(&mut reader.next_volume()?.voxels);
        }
        Ok(Image { grid: reader.grid().clone(), voxels, planes })
    }

    /// Number of volumes.
    pub fn count(&self) -> usize {
        self.voxels.len() / self.grid.len()
    }

    /// The image as a single volume.
    ///
    /// # Errors
    /// The image has several volumes.
    pub fn single(self, operation: &str) -> Result<Volume, Refusal> {
        match self.count() {
            1 => Ok(Volume { grid: self.grid, voxels: self.voxels }),
            count => {
                let why = format!("expected an image of one volume, found {count} volumes");
                Err(Refusal::new(operation, why))
            }
        }
    }

    /// Checks that another image has as many voxels along each axis.
    ///
    /// # Errors
    /// The images differ in shape.
    pub fn check_shape(&self, path: &Path, other: &Image) -> Result<(), Refusal> {
        if self.grid.shape == other.grid.shape && self.voxels.len() == other.voxels.len() {
            return Ok(());
        }
        let why = format!(
            "has {:?} voxels and {} volumes; expected {:?} and {}, as the first image",
            other.grid.shape,
            other.count(),
            self.grid.shape,
            self.count()
        );
        Err(Refusal::new(path.display(), why))
    }

    /// Writes the image. The file may be an input that has been read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path, stored: Stored) -> Result<(), CliError> {
        let each = self.grid.len();
        let file = PlanesFile { grid: &self.grid, count: self.count(), planes: self.planes, stored };
        file.write(path, |index| {
            let voxels = self.voxels[index * each..(index + 1) * each].to_vec();
            Ok::<_, CliError>(Volume { grid: self.grid.clone(), voxels })
        })
    }
}

impl From<Volume> for Image {
    fn from(volume: Volume) -> Image {
        Image { grid: volume.grid, voxels: volume.voxels, planes: Planes::One }
    }
}

/// Checks that an image can be written to `path`, before anything is computed.
///
/// # Errors
/// A name of a format that is not written; a folder in which no file can be made.
pub fn check_output(path: &Path) -> Result<(), CliError> {
    if !is_image_output(path) {
        return Err(super::refused_name(path.display()).into());
    }
    // The output may be one of the inputs: these are read before it is replaced.
    Ok(outputs::check_in_place([path])?)
}

/// Reads the number of image dimensions given to a command: 2, 3 or 4.
///
/// # Errors
/// Another number.
pub fn dimensions(word: &str) -> Result<u8, Refusal> {
    match word {
        "2" => Ok(2),
        "3" => Ok(3),
        "4" => Ok(4),
        _ => Err(Refusal::new(format!("dimension {word}"), "expected 2, 3 or 4")),
    }
}
