//! Subjects of a BIDS folder.

use std::path::{Path, PathBuf};

use super::{Error, Subject};
use crate::words::stem;

/// The images `sub-*/anat/*_SUFFIX.nii[.gz]` and `sub-*/ses-*/anat/…` of a BIDS folder, sorted by name. Each image
/// with the first suffix is a subject, named as its file without the suffix. Its other channels are in the same
/// folder. For a missing channel the expected name is used, so that reading the subject reports it.
pub fn read(folder: &Path, suffixes: &[String]) -> Result<Vec<Subject>, Error> {
    let mut subjects = Vec::new();
    for subject in entries(folder, "sub-")? {
        let sessions = entries(&subject, "ses-")?;
        for place in std::iter::once(subject).chain(sessions) {
            let files = entries(&place.join("anat"), "sub-")?;
            let is_image =
                |file: &&PathBuf| [".nii", ".nii.gz"].iter().any(|end| file.to_string_lossy().ends_with(end));
            let images: Vec<&PathBuf> = files.iter().filter(is_image).collect();
            let without = |image: &Path, suffix: &str| {
                let stem = stem(image);
                stem.strip_suffix(suffix).and_then(|rest| rest.strip_suffix('_')).map(str::to_owned)
            };
            for image in &images {
                let Some(name) = without(image, &suffixes[0]) else { continue };
                let other = |suffix: &String| {
                    let of_suffix: Vec<&&PathBuf> =
                        images.iter().filter(|image| without(image, suffix).is_some()).collect();
                    let own = of_suffix.iter().find(|image| without(image, suffix).as_ref() == Some(&name));
                    // With several acquisitions, names have further parts.
                    match (own, of_suffix.as_slice()) {
                        (Some(image), _) | (None, [image]) => image.to_path_buf(),
                        _ => place.join("anat").join(format!("{name}_{suffix}.nii.gz")),
                    }
                };
                let images = std::iter::once(image.to_path_buf()).chain(suffixes[1..].iter().map(other)).collect();
                subjects.push(Subject { name, images, mask: None, labels: None });
            }
        }
    }
    let expected = format!("sub-*/anat/*_{}.nii.gz", suffixes[0]);
    if subjects.is_empty() { Err(Error::NoneFound { path: folder.into(), expected }) } else { Ok(subjects) }
}

/// The entries of a folder whose names begin with `beginning`, sorted; none if the folder does not exist.
fn entries(folder: &Path, beginning: &str) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let wrap = |source| Error::Read { path: folder.into(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrap)? {
        let entry = entry.map_err(wrap)?;
        if entry.file_name().to_string_lossy().starts_with(beginning) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
