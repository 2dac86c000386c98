//! The command `ComposeMultiTransform`: several transforms as one.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{GridRule, Stored};
use antsreg_core::io::{itk, outputs};
use antsreg_kernels::apply;
use antsreg_register::Description;
use antsreg_study::transforms::{self, TransformFile, is_image_output};

use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
ComposeMultiTransform DIMENSION OUTPUT [-R REFERENCE] {[-i] TRANSFORM} …

Served by antsreg-gpu. The transforms stand in the order of antsApplyTransforms; -i takes the inverse of an affine. OUTPUT is a warp on
the grid of the image REFERENCE (.nii.gz, .nii), or an affine about the centre of the affine REFERENCE (.mat, .txt, .tfm).
";

/// Runs `ComposeMultiTransform`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([dimension, output, rest @ ..]) = positional(&call.arguments, 3..=usize::MAX, USAGE)? else {
        return Ok(());
    };
    let slices = super::dimension(dimension)? == 2;
    let output = Path::new(output);
    let (reference, files) = parse(rest)?;
    if !is_image_output(output) {
        super::check_affine_name(output)?;
    }
    outputs::check_in_place([output])?;
    if !slices {
        files.iter().try_for_each(transforms::check_of_volumes)?;
    }
    let chain = transforms::read_chain_by(GridRule::Itk, &files)?;
    if is_image_output(output) {
        let missing = || Refusal::new("-R", "is missing; expected the image whose grid the warp gets");
        let reference = reference.ok_or_else(missing)?;
        let grid = GridRule::Itk.inspect(&reference)?.grid;
        super::check_dimension(slices, [(reference.as_path(), &grid)])?;
        itk::write_warp_as(output, &apply::compose(&grid, &chain), Stored::Float32)?;
    } else {
        let why = "the transforms contain a displacement field and cannot be written as one affine map";
        let affine =
            chain.affine().ok_or_else(|| Refusal::new(output.display(), why).instead("use a name in .nii.gz"))?;
        let centre = itk::read_centred_affine(reference.as_deref().unwrap_or(&files[0].path))?.1;
        match slices {
            true => itk::write_affine_of_slices(output, &affine, centre)?,
            false => itk::write_affine(output, &affine, centre)?,
        }
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

/// The reference, and the transforms; at least one.
fn parse(words: &[String]) -> Result<(Option<PathBuf>, Vec<TransformFile>), Refusal> {
    let (mut reference, mut files) = (None, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().ok_or_else(|| Refusal::new(word, "expected the name of a file after this flag"));
        match word.as_str() {
            "-R" => reference = Some(PathBuf::from(value()?)),
            "-i" => files.push(TransformFile { path: value()?.into(), inverted: true }),
            _ => files.push(TransformFile { path: word.into(), inverted: false }),
        }
    }
    match files.is_empty() {
        true => Err(Refusal::new("TRANSFORM", "is missing; expected at least one")),
        false => Ok((reference, files)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_may_be_inverted() {
        let read = |line: &str| parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let (reference, files) = read("a.nii -R r.nii -i b.mat").expect("it is served");
        assert_eq!(reference, Some(PathBuf::from("r.nii")));
        assert_eq!(files.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a.nii", "[b.mat,1]"]);
        assert!(read("-R r.nii").is_err() && read("a.mat -i").is_err());
    }
}
