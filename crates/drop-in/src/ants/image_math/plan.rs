//! What an operation of `ImageMath` reads, does and makes.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::Volume;
use antsreg_core::io::nifti::Stored;
use antsreg_images::Error;

use crate::ants::files::Image;

/// The arguments of an operation.
pub struct Words<'a> {
    /// Name of the operation.
    pub operation: &'a str,
    /// Path of the output.
    pub output: &'a Path,
    /// Number of dimensions: 2, 3 or 4.
    pub dimensions: u8,
    /// The arguments after the name.
    pub rest: &'a [String],
}

/// A function that parses the arguments of an operation.
pub type Parser = fn(&Words) -> Result<Plan, Refusal>;

/// The work of an operation on its inputs, in the order of [`Plan::inputs`].
pub type Work = Box<dyn FnOnce(Vec<Image>) -> Result<Made, CliError>>;

/// An operation with its arguments.
pub struct Plan {
    /// Files that are read.
    pub inputs: Vec<PathBuf>,
    /// Whether all inputs must have the same numbers of voxels.
    pub same_shape: bool,
    /// Whether missing voxels (NaN, infinity) are read as they are stored, instead of as 0.
    pub keeps_missing: bool,
    /// Whether the output is a text.
    pub writes_text: bool,
    /// Computes the output.
    pub work: Work,
}

/// The output of an operation.
pub enum Made {
    /// An image, written in single precision.
    Image(Image),
    /// An image of whole numbers, written in this type.
    Whole(Image, Stored),
    /// Several images, written in single precision to these files.
    Several(Vec<(PathBuf, Image)>),
    /// A text on standard output, and perhaps an image.
    Printed(Option<Image>, String),
    /// A text for the output file.
    Text(String),
}

impl Plan {
    /// An operation on images of the same shape.
    pub fn on(inputs: Vec<PathBuf>, work: impl FnOnce(Vec<Image>) -> Result<Made, CliError> + 'static) -> Plan {
        Plan { inputs, same_shape: true, keeps_missing: false, writes_text: false, work: Box::new(work) }
    }

    /// An operation that changes the voxels of one image, regardless of their places.
    pub fn of_voxels(input: PathBuf, change: impl FnOnce(&mut [f32]) + 'static) -> Plan {
        Plan::on(vec![input], |images| {
            let mut image = first(images)?;
            change(&mut image.voxels);
            Ok(Made::Image(image))
        })
    }
}

impl Words<'_> {
    /// A refusal of this operation.
    pub fn refusal(&self, why: impl std::fmt::Display) -> Refusal {
        Refusal::new(format!("ImageMath {}", self.operation), why)
    }

    /// The path at a position after the operation's name.
    ///
    /// # Errors
    /// There are fewer arguments.
    pub fn path(&self, place: usize) -> Result<PathBuf, Refusal> {
        let missing = || self.refusal(format!("argument {} is missing; expected an image", place + 1));
        self.rest.get(place).map(PathBuf::from).ok_or_else(missing)
    }

    /// All paths from a position on; at least one.
    ///
    /// # Errors
    /// There are fewer arguments.
    pub fn paths(&self, from: usize) -> Result<Vec<PathBuf>, Refusal> {
        self.path(from)?;
        Ok(self.rest[from..].iter().map(PathBuf::from).collect())
    }

    /// The number at a position; `None` if there are fewer arguments.
    ///
    /// # Errors
    /// The argument is no number.
    pub fn given(&self, place: usize) -> Result<Option<f32>, Refusal> {
        let Some(word) = self.rest.get(place) else { return Ok(None) };
        let number = number(word).ok_or_else(|| self.refusal(format!("expected a number, found {word}")))?;
        Ok(Some(number))
    }

    /// The number at a position, or a default.
    ///
    /// # Errors
    /// The argument is no number.
    pub fn number(&self, place: usize, default: f32) -> Result<f32, Refusal> {
        Ok(self.given(place)?.unwrap_or(default))
    }

    /// The number at a position.
    ///
    /// # Errors
    /// The argument is missing or no number.
    pub fn needed(&self, place: usize) -> Result<f32, Refusal> {
        let missing = || self.refusal(format!("argument {} is missing; expected a number", place + 1));
        self.given(place)?.ok_or_else(missing)
    }

    /// The whole number at a position, or a default.
    ///
    /// # Errors
    /// The argument is no number of this kind.
    pub fn count(&self, place: usize, default: usize) -> Result<usize, Refusal> {
        let number = self.number(place, default as f32)?;
        match (0.0..1e6).contains(&number) {
            true => Ok(number as usize),
            false => Err(self.refusal(format!("expected a number from 0, found {number}"))),
        }
    }

    /// Whether the number at a position is not 0.
    ///
    /// # Errors
    /// The argument is no number.
    pub fn switch(&self, place: usize) -> Result<bool, Refusal> {
        Ok(self.number(place, 0.0)? as i32 != 0)
    }

    /// Refuses images of four dimensions, for operations on neighbourhoods.
    ///
    /// # Errors
    /// The number of dimensions is 4.
    pub fn not_of_series(&self) -> Result<(), Refusal> {
        match self.dimensions {
            4 => Err(Refusal::not_served(format!("ImageMath 4 … {}", self.operation), "use dimension 2 or 3")),
            _ => Ok(()),
        }
    }

    /// An operation that makes a volume of one volume.
    ///
    /// # Errors
    /// The input is missing, or the number of dimensions is 4.
    pub fn of_volume(&self, work: impl FnOnce(Volume) -> Result<Volume, Error> + 'static) -> Result<Plan, Refusal> {
        self.not_of_series()?;
        let name = format!("ImageMath {}", self.operation);
        Ok(Plan::on(vec![self.path(0)?], move |images| {
            let volume = first(images)?.single(&name)?;
            let made = work(volume).map_err(|error| Refusal::new(name, error))?;
            Ok(Made::Image(made.into()))
        }))
    }
}

/// The path `output`, with `suffix` in the name before the extension.
pub fn beside(output: &Path, suffix: impl std::fmt::Display) -> PathBuf {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.split_at(name.find('.').unwrap_or(name.len()));
    output.with_file_name(format!("{stem}{suffix}{extension}"))
}

/// Reads a number as ANTs does.
pub fn number(word: &str) -> Option<f32> {
    word.trim().parse().ok()
}

/// The first of the images.
///
/// # Errors
/// There is none.
pub fn first(images: Vec<Image>) -> Result<Image, Refusal> {
    images.into_iter().next().ok_or_else(|| Refusal::new("INPUT", "is missing; expected an image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers_before_the_extension() {
        assert_eq!(beside(Path::new("a.b/vol.nii.gz"), 1003), Path::new("a.b/vol1003.nii.gz"));
    }
}
