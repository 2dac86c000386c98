//! Names of images in the convention of FSL's commands, where names have no extensions. The environment variable
//! `FSLOUTPUTTYPE` determines the extension of outputs.

use std::path::{Path, PathBuf};

use antsreg_console::Refusal;

/// The environment variable that gives the format of output images.
const OUTPUT_TYPE: &str = "FSLOUTPUTTYPE";

/// Extensions of image files, in the order in which they are tried for an input.
const EXTENSIONS: [&str; 6] = [".nii.gz", ".nii", ".hdr.gz", ".hdr", ".img.gz", ".img"];

/// The path of an input image: the name itself, or the name with an extension.
///
/// # Errors
/// No file exists with this name, with or without an extension.
pub fn input(option: &str, name: &str) -> Result<PathBuf, Refusal> {
    let path = PathBuf::from(name);
    let with = |extension: &&str| PathBuf::from(format!("{}{extension}", stem(name)));
    let found = if path.is_file() { Some(path) } else { EXTENSIONS.iter().map(with).find(|path| path.is_file()) };
    found.ok_or_else(|| {
        Refusal::new(
            format!("{option} {name}"),
            "this image does not exist; tried its name with and without extensions such as .nii.gz",
        )
    })
}

/// The path of an output image: the name, with the extension of the format in `FSLOUTPUTTYPE`.
///
/// # Errors
/// `FSLOUTPUTTYPE` names a format that is not supported.
pub fn output(name: &str) -> Result<PathBuf, Refusal> {
    output_as(name, std::env::var(OUTPUT_TYPE).ok().as_deref())
}

fn output_as(name: &str, format: Option<&str>) -> Result<PathBuf, Refusal> {
    let extension = match format {
        None | Some("" | "NIFTI_GZ") => ".nii.gz",
        Some("NIFTI") => ".nii",
        Some(other) => {
            return Err(Refusal::not_served(
                format!("{OUTPUT_TYPE}={other}"),
                "set FSLOUTPUTTYPE to NIFTI_GZ or NIFTI",
            ));
        }
    };
    Ok(PathBuf::from(format!("{}{extension}", stem(name))))
}

/// The name of an image file without its extension.
pub fn stem(name: &str) -> &str {
    EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(name)
}

/// The path of an input file that must exist.
///
/// # Errors
/// No file exists with this name.
pub fn existing(option: &str, name: &str) -> Result<PathBuf, Refusal> {
    match Path::new(name).is_file() {
        true => Ok(name.into()),
        false => Err(Refusal::new(format!("{option} {name}"), "no such file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_the_extension_of_the_format() {
        let output = |name: &str, format| output_as(name, format).ok();
        assert_eq!(output("a/b", None), Some("a/b.nii.gz".into()));
        assert_eq!(output("b.nii", Some("NIFTI_GZ")), Some("b.nii.gz".into()));
        assert_eq!(output("b.nii.gz", Some("NIFTI")), Some("b.nii".into()));
        assert_eq!(output("b.v1", Some("")), Some("b.v1.nii.gz".into()));
        assert_eq!(output("b", Some("ANALYZE")), None);
    }

    #[test]
    fn inputs_are_found_without_their_extension() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.v2.nii.gz");
        std::fs::write(&path, b"x").expect("it is written");
        for name in ["x.v2", "x.v2.nii", "x.v2.nii.gz"] {
            let name = folder.path().join(name).display().to_string();
            assert_eq!(input("-in", &name).ok().as_ref(), Some(&path), "{name}");
        }
        assert!(input("-in", &folder.path().join("y").display().to_string()).is_err());
    }
}
