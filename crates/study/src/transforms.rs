//! Reads transform files and chains of transforms. Name and contents of a file determine its format.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::{self, ImageFormat, itk};
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain};
use serde::{Deserialize, Serialize};

use crate::{Error, inputs};

/// Formats of affines that can be read, for messages.
const AFFINE_FORMATS: &str = "an ITK affine (.mat, .txt, .tfm, .h5)";

/// Largest size of a text file that may be an FSL matrix, bytes. Larger files are not read as matrices.
const LARGEST_MATRIX: u64 = 1 << 14;

/// ANTs' name of the identity transform.
const IDENTITY: &str = "identity";

/// A transform file or its inverse, from the text `FILE`, `[FILE,0]` (the file) or `[FILE,1]` (the inverse).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransformFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Whether the inverse of the transform is used.
    pub inverted: bool,
}

/// Error: a text names neither a transform file nor its inverse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected FILE, or [FILE,1] for its inverse, found `{found}`")]
pub struct NotATransformFile {
    /// The given text, which names neither a transform file nor its inverse.
    pub found: String,
}

impl FromStr for TransformFile {
    type Err = NotATransformFile;

    fn from_str(text: &str) -> Result<TransformFile, NotATransformFile> {
        let malformed = || NotATransformFile { found: text.into() };
        let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return match text {
                "" => Err(malformed()),
                _ => Ok(TransformFile { path: text.into(), inverted: false }),
            };
        };
        let (path, flag) = inner.rsplit_once(',').ok_or_else(malformed)?;
        let inverted = match flag.trim() {
            "0" => false,
            "1" => true,
            _ => return Err(malformed()),
        };
        match path.trim() {
            "" => Err(malformed()),
            path => Ok(TransformFile { path: path.into(), inverted }),
        }
    }
}

impl Display for TransformFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.inverted { write!(f, "[{},1]", self.path.display()) } else { write!(f, "{}", self.path.display()) }
    }
}

/// Whether images are written under a name with this extension.
pub fn is_image_output(path: &Path) -> bool {
    ImageFormat::of(path).is_some()
}

/// Checks that images are written under a name with the extension of an output.
///
/// # Errors
/// [`Error::OutputExtension`].
pub(crate) fn check_image_name(path: &Path) -> Result<(), Error> {
    match is_image_output(path) {
        true => Ok(()),
        false => Err(Error::OutputExtension { path: path.into(), expected: ImageFormat::NAMES }),
    }
}

/// Whether the file name has the extension of an image file.
pub fn is_image(path: &Path) -> bool {
    ImageFormat::stem(path).is_some()
}

/// Reads the affine map of a file (the product, if the file has several), and inverts it if `file` asks for the
/// inverse.
///
/// # Errors
/// A file that cannot be read; a displacement field; a singular affine.
pub fn read_affine(file: &TransformFile) -> Result<AffineTransform, Error> {
    read_chain(std::slice::from_ref(file))?.affine().ok_or_else(|| {
        let (path, found) = (file.path.clone(), "a displacement field".into());
        Error::NotATransform { path, found, expected: AFFINE_FORMATS }
    })
}

/// Reads the chain of transforms in the given order: the first transform acts first on a point of the reference. The
/// inverse of a composite is the inverse of each part, the last part first.
///
/// # Errors
/// A file that cannot be read; a displacement field whose inverse is requested; a singular affine.
pub fn read_chain(files: &[TransformFile]) -> Result<TransformChain, Error> {
    read_chain_by(GridRule::default(), files)
}

/// Reads a chain as [`read_chain`] does. `rule` says how the grid of a displacement field is read from the header of
/// its file.
///
/// # Errors
/// The errors of [`read_chain`].
pub fn read_chain_by(rule: GridRule, files: &[TransformFile]) -> Result<TransformChain, Error> {
    let mut chain = TransformChain::new();
    for file in files {
        let mut parts = read(rule, &file.path)?;
        let count = parts.len();
        if file.inverted {
            parts.reverse();
        }
        for (n, part) in parts.into_iter().enumerate() {
            let number = if file.inverted { count - n } else { n + 1 };
            let name = match count {
                1 => file.path.display().to_string(),
                _ => format!("{} (part {number})", file.path.display()),
            };
            chain.push(name, part, file.inverted)?;
        }
    }
    Ok(chain)
}

/// Refuses two-dimensional transforms if the output grid `onto` is a volume, and three-dimensional warps if input and
/// output are slices. If the input is a volume and the output grid is a slice, transforms of both kinds are allowed.
///
/// # Errors
/// [`Error::SliceAndVolume`], [`Error::TransformOfSlices`].
pub fn check_dimensions(
    files: &[TransformFile],
    chain: &TransformChain,
    onto: (&Path, &Grid),
    input: &Grid,
) -> Result<(), Error> {
    let (path, grid) = onto;
    if grid.is_slice() && !input.is_slice() {
        return Ok(());
    }
    for step in &chain.steps {
        if let Transform::Displacement(field) = &step.transform {
            inputs::check_alike([Path::new(&step.name), path], [&field.grid, grid])?;
        }
    }
    if grid.is_slice() { Ok(()) } else { files.iter().try_for_each(check_of_volumes) }
}

/// Refuses a two-dimensional affine map.
///
/// # Errors
/// [`Error::TransformOfSlices`]; a file that cannot be read.
pub fn check_of_volumes(TransformFile { path, .. }: &TransformFile) -> Result<(), Error> {
    match path.exists() && itk::is_affine_of_slices(path)? {
        true => Err(Error::TransformOfSlices { path: path.clone() }),
        false => Ok(()),
    }
}

/// Reads the transforms of a file. An FSL matrix, which may have the same extension as an ITK affine, is named in the
/// error.
fn read(rule: GridRule, path: &Path) -> Result<Vec<Transform>, Error> {
    if path == Path::new(IDENTITY) && !path.exists() {
        return Ok(vec![Transform::Affine(AffineTransform::identity())]);
    }
    if looks_like_fsl(path) {
        let found = "an FSL matrix, which can be used only with its two images".into();
        return Err(Error::NotATransform { path: path.into(), found, expected: AFFINE_FORMATS });
    }
    Ok(itk::read_transforms_by(rule, path)?)
}

/// Whether the file is text that contains only numbers, as FLIRT's matrices do.
pub fn looks_like_fsl(path: &Path) -> bool {
    // A file that cannot be read is reported later, by the function that reads the transform.
    let Ok(text) = io::read_text(path, "a matrix", LARGEST_MATRIX) else { return false };
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_may_be_none() {
        let typed = |path: &str| TransformFile { path: path.into(), inverted: false };
        assert_eq!(read_affine(&typed("identity")).ok(), Some(AffineTransform::identity()));
        assert!(read_affine(&typed("identity.mat")).is_err());
    }

    #[test]
    fn a_transform_may_be_inverted() {
        let read = |text: &str| text.parse::<TransformFile>();
        assert_eq!(read("a.mat"), Ok(TransformFile { path: "a.mat".into(), inverted: false }));
        assert_eq!(read("[a,b.mat,1]"), Ok(TransformFile { path: "a,b.mat".into(), inverted: true }));
        assert_eq!(read("[a.mat, 0]"), Ok(TransformFile { path: "a.mat".into(), inverted: false }));
        assert!(read("[a.mat]").is_err());
        assert!(["[a.mat,2]", "", "[,1]", "[ ,0]"].into_iter().all(|text| read(text).is_err()));
    }
}
