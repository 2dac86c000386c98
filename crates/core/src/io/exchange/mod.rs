//! Transforms in the formats of other programs: one table of formats, one module for each kind of file.
//!
//! A transform in memory maps points of the fixed image to the moving image, RAS mm. Each format has its own direction
//! and world.

mod afni;
mod field;
mod format;
mod lta;
mod matrix;
mod x5;

use std::path::Path;

use nalgebra::Point3;

pub use format::TransformFormat;

use super::{Error, ErrorKind, ImageFormat, fsl, itk, small};
use crate::{Grid, Transform, TransformChain};

/// The grids of the two images of a transform, where they are known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spaces<'a> {
    /// Grid of the fixed image.
    pub fixed: Option<&'a Grid>,
    /// Grid of the moving image.
    pub moving: Option<&'a Grid>,
}

/// Largest size of a file of an affine map, bytes.
const LARGEST: u64 = 1 << 16;

impl TransformFormat {
    /// All formats with their names.
    pub const ALL: [(&'static str, TransformFormat); 9] = [
        ("itk", TransformFormat::Itk),
        ("fsl", TransformFormat::Fsl),
        ("lta", TransformFormat::Lta),
        ("afni", TransformFormat::Afni),
        ("mrtrix", TransformFormat::Mrtrix),
        ("niftyreg", TransformFormat::NiftyReg),
        ("niftyreg-disp", TransformFormat::NiftyRegDisplacements),
        ("spm", TransformFormat::Spm),
        ("x5", TransformFormat::X5),
    ];

    /// The format that the name of a file means beyond doubt.
    pub fn of_name(path: &Path) -> Option<TransformFormat> {
        let name = path.to_string_lossy().to_lowercase();
        let has = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        if has(&[".lta"]) {
            Some(TransformFormat::Lta)
        } else if has(&[".1d"]) {
            Some(TransformFormat::Afni)
        } else if has(&[".x5"]) {
            Some(TransformFormat::X5)
        } else if has(&[".txt", ".tfm", ".h5", ".hdf5"]) || ImageFormat::of(path).is_some() {
            Some(TransformFormat::Itk)
        } else {
            None
        }
    }

    /// The format of a file by its content: a matrix is taken for FSL's unless its name is one of AFNI, an image of vectors for ITK's unless
    /// NiftyReg wrote it.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_content(path: &Path) -> Result<TransformFormat, Error> {
        let (start, _) = small::read_start(path, LARGEST)?;
        if start.starts_with(b"\x89HDF") {
            let by_name = TransformFormat::of_name(path) == Some(TransformFormat::X5);
            return Ok(if by_name { TransformFormat::X5 } else { TransformFormat::Itk });
        }
        if super::formats::is_image(&start) {
            return field::format_of(path);
        }
        let Some(text) = small::text_of(&start) else { return Ok(TransformFormat::Itk) };
        if lta::starts_like(text) {
            return Ok(TransformFormat::Lta);
        }
        if TransformFormat::of_name(path) == Some(TransformFormat::Afni) {
            return Ok(TransformFormat::Afni);
        }
        Ok(match matrix::numbers(text) {
            Some(numbers) if !numbers.is_empty() => TransformFormat::Fsl,
            _ => TransformFormat::Itk,
        })
    }

    /// Whether the fixed and the moving image are needed to read a transform.
    pub fn reads_with_images(self) -> bool {
        self == TransformFormat::Fsl
    }

    /// Whether the fixed and the moving image are needed to write a transform.
    pub fn writes_with_images(self) -> bool {
        matches!(self, TransformFormat::Fsl | TransformFormat::Lta)
    }

    /// Reads the transforms of a file, in the order in which they act on a point.
    ///
    /// # Errors
    /// A file that cannot be read or has another format; grids that the format needs and that are unknown.
    pub fn read(self, path: &Path, spaces: Spaces) -> Result<Vec<Transform>, Error> {
        let text = || small::read_text(path, "a transform", LARGEST);
        let wrap = |kind| Error::new(path, kind);
        let affine = match self {
            TransformFormat::Itk => return itk::read_transforms(path),
            TransformFormat::X5 => return x5::read(path),
            TransformFormat::Fsl => {
                let (fixed, moving) = both(spaces).map_err(wrap)?;
                fsl::read_matrix(path, fixed, moving)?
            }
            TransformFormat::Lta => lta::parse(&text()?).map_err(wrap)?,
            TransformFormat::Afni => {
                check_straight(spaces).map_err(wrap)?;
                afni::parse(&text()?).map_err(wrap)?
            }
            TransformFormat::Mrtrix | TransformFormat::NiftyReg | TransformFormat::NiftyRegDisplacements
                if !is_image(path)? =>
            {
                matrix::parse(&text()?).map_err(wrap)?
            }
            _ => return Ok(vec![Transform::Displacement(field::read(self, path)?)]),
        };
        Ok(vec![Transform::Affine(affine)])
    }

    /// Writes a transform.
    ///
    /// # Errors
    /// A transform that the format cannot store; grids that the format needs and that are unknown; a file that cannot be
    /// written.
    pub fn write(self, path: &Path, transform: &Transform, spaces: Spaces) -> Result<(), Error> {
        let wrap = |kind| Error::new(path, kind);
        let text =
            |text: String| super::replace::replace(path, |file| std::io::Write::write_all(file, text.as_bytes()));
        let affine = match transform {
            _ if self == TransformFormat::X5 => return x5::write(path, transform, spaces.fixed),
            Transform::Displacement(field) if self == TransformFormat::Itk && !itk::is_composite(path) => {
                return itk::write_warp(path, field);
            }
            Transform::Displacement(field) if self != TransformFormat::Itk => return field::write(self, path, field),
            Transform::Affine(affine) if !itk::is_composite(path) || self != TransformFormat::Itk => affine,
            _ => {
                let chain = TransformChain::from(vec![transform.clone()]);
                return itk::write_composite(path, &chain, centre(spaces), itk::Dimensions::Three);
            }
        };
        match self {
            TransformFormat::Itk => itk::write_affine(path, affine, centre(spaces)),
            TransformFormat::Fsl => {
                let (fixed, moving) = both(spaces).map_err(wrap)?;
                fsl::write_matrix(path, affine, fixed, moving)
            }
            TransformFormat::Lta => {
                let (fixed, moving) = both(spaces).map_err(wrap)?;
                text(lta::text(affine, fixed, moving).map_err(wrap)?)
            }
            TransformFormat::Afni => {
                check_straight(spaces).map_err(wrap)?;
                text(afni::text(affine))
            }
            TransformFormat::Spm => {
                Err(wrap(ErrorKind::NotHeld { format: "SPM's deformations", what: "an affine map" }))
            }
            _ => text(fsl::text(&affine.to_homogeneous())),
        }
    }
}

fn both<'a>(spaces: Spaces<'a>) -> Result<(&'a Grid, &'a Grid), ErrorKind> {
    spaces.fixed.zip(spaces.moving).ok_or(ErrorKind::SpacesUnknown)
}

/// The centre that ITK's files of affine maps contain: that of the fixed image.
fn centre(spaces: Spaces) -> Point3<f64> {
    spaces.fixed.map_or_else(Point3::origin, Grid::centre)
}

fn is_image(path: &Path) -> Result<bool, Error> {
    Ok(super::formats::is_image(&small::read_start(path, 16)?.0))
}

/// Refuses images whose axes are not along those of the world: AFNI's programs apply a matrix to such images as if they
/// were straight.
fn check_straight(spaces: Spaces) -> Result<(), ErrorKind> {
    /// Largest deviation of a direction that is rounding.
    const STRAIGHT: f64 = 1e-4;
    let oblique =
        |grid: &Grid| grid.direction.iter().any(|value| value.abs() > STRAIGHT && value.abs() < 1.0 - STRAIGHT);
    match [spaces.fixed, spaces.moving].into_iter().flatten().any(oblique) {
        true => Err(ErrorKind::Oblique),
        false => Ok(()),
    }
}
