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
                if name.split('_').next() == Some("sub-") {
                    return Err(Error::NoLabel { path: image.clone() });
                }
                let other = |suffix: &String| {
                    let there = among(&files, &name, suffix);
                    let one = there.first().filter(|_| there.len() == 1).cloned();
                    one.unwrap_or_else(|| place.join("anat").join(format!("{name}_{suffix}.nii.gz")))
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

/// Finds other images of the same scan session beside `image`: images in the same folder with the BIDS suffix `suffix`,
/// such as `T2w`. Several images are returned if it is not clear which of them belongs to `image`.
pub fn beside(image: &Path, suffix: &str) -> Vec<PathBuf> {
    let files = image.parent().and_then(|folder| entries(folder, "sub-").ok()).unwrap_or_default();
    let stem = stem(image);
    stem.rsplit_once('_').map_or(Vec::new(), |(name, _)| among(&files, name, suffix))
}

/// Finds the image of the scan `name` with this suffix among the files of a folder. The image may have other entities,
/// such as an acquisition, but no entity of [`SHARED`] with another label. An image with the same entities as the scan
/// is returned alone.
fn among(files: &[PathBuf], name: &str, suffix: &str) -> Vec<PathBuf> {
    let of_suffix =
        |file: &&PathBuf| is_image(file) && without(file, suffix).is_some_and(|own| go_together(&own, name));
    let found: Vec<&PathBuf> = files.iter().filter(of_suffix).collect();
    let own = found.iter().find(|file| without(file, suffix).as_deref() == Some(name));
    own.map_or(found.clone(), |own| vec![own]).into_iter().cloned().collect()
}

/// Entities whose labels are equal in all images that belong to one scan. Other entities, such as `acq`, name the way of
/// the acquisition, which differs between contrasts.
const SHARED: [&str; 3] = ["sub", "ses", "run"];

/// Whether images with these entities may belong to one scan.
fn go_together(one: &str, other: &str) -> bool {
    let label = |name: &str, key: &str| {
        let mut parts = name.split('_').filter_map(|part| part.split_once('-'));
        parts.find(|(found, _)| *found == key).map(|(_, label)| label.to_owned())
    };
    SHARED.iter().all(|key| match (label(one, key), label(other, key)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    })
}

fn is_image(file: &Path) -> bool {
    [".nii", ".nii.gz"].iter().any(|end| file.to_string_lossy().ends_with(end))
}

/// The name of an image without its suffix; `None` if the image has another suffix. Upper and lower case of the suffix are
/// treated alike.
fn without(image: &Path, suffix: &str) -> Option<String> {
    let stem = stem(image);
    let (name, found) = stem.rsplit_once('_')?;
    found.eq_ignore_ascii_case(suffix).then(|| name.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn among(names: &[&str], scan: &str) -> Vec<String> {
        let files: Vec<PathBuf> = names.iter().map(|name| format!("{name}.nii.gz").into()).collect();
        super::among(&files, scan, "T2w").iter().map(|path| stem(path)).collect()
    }

    #[test]
    fn an_image_of_another_run_or_session_belongs_to_no_scan() {
        let one = ["sub-1_run-1_T2w"];
        assert_eq!(among(&one, "sub-1_run-1"), one);
        assert_eq!(among(&one, "sub-1_run-2"), [""; 0]);
        assert_eq!(among(&one, "sub-1"), one);
        assert_eq!(among(&["sub-1_ses-b_T2w"], "sub-1_ses-a"), [""; 0]);
        assert_eq!(among(&["sub-1_acq-x_T2w"], "sub-1_acq-y_run-2"), ["sub-1_acq-x_T2w"]);
    }

    #[test]
    fn of_several_images_the_one_with_the_entities_of_the_scan_is_taken() {
        let both = ["sub-1_acq-x_T2w", "sub-1_acq-y_T2w"];
        assert_eq!(among(&both, "sub-1_acq-y"), [both[1]]);
        assert_eq!(among(&both, "sub-1"), both);
        assert_eq!(
            among(&["sub-1_acq-x_run-1_T2w", "sub-1_acq-x_run-2_T2w"], "sub-1_run-2"),
            ["sub-1_acq-x_run-2_T2w"]
        );
    }

    #[test]
    fn suffixes_in_lower_case_are_found_and_subjects_without_label_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(&path, "").expect("a file");
        };
        write("sub-06/anat/sub-06_t1w.nii.gz");
        let names = || {
            read(folder.path(), &["T1w".into()]).map(|all| all.into_iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names().expect("one"), ["sub-06"]);
        write("sub-/anat/sub-_T1w.nii.gz");
        assert!(matches!(names(), Err(Error::NoLabel { path }) if path.ends_with("sub-/anat/sub-_T1w.nii.gz")));
    }
}
