//! Lists the subjects of a BIDS folder.

use std::path::{Path, PathBuf};

use super::error::Error;
use super::subject::Subject;
use crate::words::stem;

/// Lists the images `sub-*/anat/*_SUFFIX.nii[.gz]` and `sub-*/ses-*/anat/…` of a BIDS folder, sorted by name. Each
/// image with the first suffix is a subject; the name of the subject is the name of the file without the suffix. The
/// subject's images of other channels are in the same folder. A missing channel is listed under its expected file name,
/// so that reading the subject reports the missing file. Masks of lesions are found beside the image.
pub fn read(folder: &Path, suffixes: &[String]) -> Result<Vec<Subject>, Error> {
    let mut subjects = Vec::new();
    for subject in entries(folder, "sub-")? {
        let sessions = entries(&subject, "ses-")?;
        for place in std::iter::once(subject).chain(sessions) {
            let files = entries(&place.join("anat"), "sub-")?;
            for image in files.iter().filter(|file| is_image(file)) {
                let Some(name) = without(image, &suffixes[0]) else { continue };
                let other = |suffix: &String| {
                    let there = among(&files, &name, suffix);
                    there.unwrap_or_else(|| place.join("anat").join(format!("{name}_{suffix}.nii.gz")))
                };
                let images = std::iter::once(image.clone()).chain(suffixes[1..].iter().map(other)).collect();
                let lesions = lesions(&files, &name, &suffixes[0]);
                subjects.push(Subject { name, images, lesions, ..Subject::default() });
            }
        }
    }
    let expected = format!("sub-*/anat/*_{}.nii.gz", suffixes[0]);
    if subjects.is_empty() { Err(Error::NoneFound { path: folder.into(), expected }) } else { Ok(subjects) }
}

/// Ends of the names of lesion masks: those of fMRIPrep, and those of BIDS derivatives.
const LESIONS: [&str; 3] = ["label-lesion_roi", "label-lesion_mask", "desc-lesion_mask"];

/// The masks of lesions of the image `name` with this suffix among the files of its folder, such as
/// `NAME_label-lesion_roi` or `NAME_T1w_label-lesion_roi`.
fn lesions(files: &[PathBuf], name: &str, suffix: &str) -> Vec<PathBuf> {
    let is_lesion = |file: &&PathBuf| {
        let stem = stem(file);
        let Some(rest) = stem.strip_prefix(name).and_then(|rest| rest.strip_prefix('_')) else { return false };
        let rest = rest.strip_prefix(suffix).and_then(|rest| rest.strip_prefix('_')).unwrap_or(rest);
        is_image(file) && LESIONS.contains(&rest.strip_prefix("space-orig_").unwrap_or(rest))
    };
    files.iter().filter(is_lesion).cloned().collect()
}

/// Finds another image of the same scan session beside `image`: an image in the same folder with the BIDS suffix
/// `suffix`, such as `T2w`. `None` if there is no such image.
pub fn beside(image: &Path, suffix: &str) -> Option<PathBuf> {
    let files = entries(image.parent()?, "sub-").ok()?;
    let stem = stem(image);
    let (name, _) = stem.rsplit_once('_')?;
    among(&files, name, suffix)
}

/// Finds the image of the subject `name` with this suffix among the files of a folder. The file name may contain other
/// parts, such as the acquisition; if only one file has the suffix, that file is taken.
fn among(files: &[PathBuf], name: &str, suffix: &str) -> Option<PathBuf> {
    let of_suffix = || files.iter().filter(|file| is_image(file) && without(file, suffix).is_some());
    let own = of_suffix().find(|file| without(file, suffix).as_deref() == Some(name));
    own.or_else(|| of_suffix().next().filter(|_| of_suffix().count() == 1)).cloned()
}

fn is_image(file: &Path) -> bool {
    [".nii", ".nii.gz"].iter().any(|end| file.to_string_lossy().ends_with(end))
}

/// The name of an image without its suffix; `None` if the image has another suffix.
fn without(image: &Path, suffix: &str) -> Option<String> {
    stem(image).strip_suffix(suffix).and_then(|rest| rest.strip_suffix('_')).map(str::to_owned)
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
