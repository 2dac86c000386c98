//! Errors about inputs and outputs that this program cannot process, but the original program may. They occur before
//! anything is written, and end a command as a refusal does.

use std::ffi::OsString;
use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::{Error as FileError, ErrorKind};
use antsreg_register as register;
use antsreg_study as study;

use crate::fsl;

/// Turns an error about an input or output that this program cannot process into a refusal, which names the argument of
/// the command line. Returns every other error unchanged.
pub fn refused(error: CliError, arguments: &[OsString]) -> CliError {
    match about(&error) {
        About::Other => error,
        About::Arguments => Refusal::new("arguments", &error).into(),
        About::File(path) => Refusal::new(argument(path, arguments), &error).into(),
    }
}

/// What an error is about.
enum About<'a> {
    /// A file that this program cannot process.
    File(&'a Path),
    /// Inputs that this program cannot process together.
    Arguments,
    /// Anything else, such as a file that does not exist, or a device that fails.
    Other,
}

fn about(error: &CliError) -> About<'_> {
    match error {
        CliError::File(error) => of_file(error),
        CliError::OutputExtension { path, .. } => About::File(path),
        CliError::Study { source } => of_study(source),
        CliError::Register { source } => of_register(source),
        CliError::Grid(_) => About::Arguments,
        _ => About::Other,
    }
}

fn of_file(error: &FileError) -> About<'_> {
    use ErrorKind::*;
    match error.kind {
        Format { .. }
        | FieldNotServed { .. }
        | NotStorable { .. }
        | Extension(_)
        | VoxelType { .. }
        | TransformType { .. } => About::File(&error.path),
        SeveralVolumes { .. } | Volumes { .. } | Flat { .. } | OutOfPlane | NotWarp { .. } => {
            About::File(&error.path)
        }
        ManyValues { .. }
        | NotExact { .. }
        | NotFinite { .. }
        | NotFiniteNumber { .. }
        | NotLabels { .. }
        | Singular
        | LastRow(_) => About::File(&error.path),
        _ => About::Other,
    }
}

fn of_study(error: &study::Error) -> About<'_> {
    use study::Error::*;
    match error {
        File(error) | NotLabels(error) => of_file(error),
        Constant { path, .. } | Range { path, .. } | Bias { path, .. } | OtherKind { path, .. } => About::File(path),
        NotATransform { path, .. } | TransformOfSlices { path, .. } | OutOfPlane { path, .. } => About::File(path),
        OtherGrid { path, .. } | MotionReference { path, .. } | MotionVolume { path, .. } => About::File(path),
        SliceAndVolume { slice, .. } => About::File(slice),
        Chain(_) | Grid(_) => About::Arguments,
        Register(error) => of_register(error),
        _ => About::Other,
    }
}

fn of_register(error: &register::Error) -> About<'_> {
    use register::linear::Error as Linear;
    match error {
        register::Error::SliceAndVolume { .. } => About::Arguments,
        register::Error::Linear { source, .. } => match source {
            Linear::Constant(_) | Linear::SliceAndVolume { .. } => About::Arguments,
            Linear::Planes { .. } | Linear::NotFinite { .. } | Linear::FewVoxels { .. } => About::Arguments,
            _ => About::Other,
        },
        register::Error::Deformable { source: register::syn::Error::Constant { .. }, .. } => About::Arguments,
        _ => About::Other,
    }
}

/// The argument that names a file, with the option before it. The names of FSL's commands may lack the extension.
fn argument(path: &Path, arguments: &[OsString]) -> String {
    let path = path.to_string_lossy();
    let stem = fsl::stem(&path);
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let Some(place) = words.iter().position(|word| word.contains(stem)) else { return path.into_owned() };
    let is_option = |word: &str| word.starts_with('-') && !word[1..].starts_with(|c: char| c.is_ascii_digit());
    match words[..place].iter().rev().find(|word| is_option(word)) {
        Some(option) => format!("{option} {}", words[place]),
        None => words[place].clone().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_of_a_file_is_named_with_its_option() {
        let words: Vec<OsString> = ["-d", "3", "-m", "[", "f.nrrd,m.nii", "-in", "a/b"].map(Into::into).to_vec();
        assert_eq!(argument(Path::new("f.nrrd"), &words), "-m f.nrrd,m.nii");
        assert_eq!(argument(Path::new("a/b.nii.gz"), &words), "-in a/b");
        assert_eq!(argument(Path::new("other"), &words), "other");
    }
}
