//! Transform files as typed → transforms. Which format a file has is told by its name and its content.

use std::path::Path;

use antsreg_core::io::{self, itk};
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain};

use crate::error::CliError;
use crate::inputs;
use crate::values::TransformFile;

/// What can be read, for messages.
const AFFINE_FORMATS: &str = "an ITK affine (.mat, .txt, .tfm, .h5); FSL's go through `antsreg-gpu convert`";

/// Largest FSL matrix, bytes.
const LARGEST_MATRIX: u64 = 1 << 14;

/// What ANTs calls a transform that is none.
const IDENTITY: &str = "identity";

/// Whether the name says NIfTI, as that of an image to write must.
pub fn is_nifti(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.ends_with(".nii") || name.ends_with(".nii.gz")
}

/// Whether the name says an image to read, NIfTI or one that may be taken for it.
pub fn is_image(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    [".nii", ".hdr", ".img"].into_iter().any(|extension| name.ends_with(extension))
}

/// The one affine map that the file holds, or several in a row, inverted if so typed.
pub fn read_affine(file: &TransformFile) -> Result<AffineTransform, CliError> {
    let mut whole = AffineTransform::identity();
    for step in read_chain(std::slice::from_ref(file))?.steps {
        match step.transform {
            Transform::Affine(affine) => whole = affine.after(&whole),
            Transform::Displacement(_) => {
                let (path, found) = (file.path.clone(), "a displacement field".into());
                return Err(CliError::NotATransform { path, found, expected: AFFINE_FORMATS });
            }
        }
    }
    Ok(whole)
}

/// The chain of the transforms as listed: a point of the reference goes through the first one first. The inverse of a
/// composite is that of each of its parts, the last one first.
pub fn read_chain(files: &[TransformFile]) -> Result<TransformChain, CliError> {
    let mut chain = TransformChain::new();
    for file in files {
        let mut parts = read(&file.path)?;
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

/// Refuses transforms of slices to put something on the grid of the volume `onto`, and, between slices, warps of volumes.
/// A slice of a volume may be taken by either.
pub fn check_dimensions(
    files: &[TransformFile],
    chain: &TransformChain,
    onto: (&Path, &Grid),
    input: &Grid,
) -> Result<(), CliError> {
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

/// Refuses an affine map of two dimensions.
pub fn check_of_volumes(TransformFile { path, .. }: &TransformFile) -> Result<(), CliError> {
    match path.exists() && itk::is_affine_of_slices(path)? {
        true => Err(CliError::TransformOfSlices { path: path.clone() }),
        false => Ok(()),
    }
}

/// What a file holds; FSL's matrices, which share an extension with ITK's, are named as such.
fn read(path: &Path) -> Result<Vec<Transform>, CliError> {
    if path == Path::new(IDENTITY) && !path.exists() {
        return Ok(vec![Transform::Affine(AffineTransform::identity())]);
    }
    if looks_like_fsl(path) {
        let found = "an FSL matrix, which means nothing without its two images".into();
        return Err(CliError::NotATransform { path: path.into(), found, expected: AFFINE_FORMATS });
    }
    Ok(itk::read_transforms(path)?)
}

/// Whether the file is text of numbers alone, as FLIRT writes its sixteen.
pub fn looks_like_fsl(path: &Path) -> bool {
    // What cannot be read is reported by those who read it.
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
}
