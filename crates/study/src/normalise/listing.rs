//! The scans of a study, and other images of the same heads.

use std::path::{Path, PathBuf};

use super::names::{label, suffix_of};
use crate::Error;
use crate::subjects::{self, Subject};
use crate::words::stem;

/// BIDS suffixes of the images that are normalised together with a scan of the same head, unless the user names
/// suffixes.
const USUAL: [&str; 2] = ["T2w", "FLAIR"];

/// A scan of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The name of the subject, or of the scan if the subject has several scans.
    pub name: String,
    /// Path of the image.
    pub image: PathBuf,
    /// Path of the brain mask; `None` if the mask is not known.
    pub mask: Option<PathBuf>,
    /// Paths of masks of lesions, on the grid of the scan.
    pub lesions: Vec<PathBuf>,
    /// Other images of the same head and session: the BIDS suffix of each image's derivatives, and the image's path.
    pub carried: Vec<(String, PathBuf)>,
    /// Messages about images of the same head that are left out, because it is not clear which of them belongs to this
    /// scan.
    pub left_out: Vec<String>,
    /// The BIDS folder in which the scan was found.
    pub root: Option<PathBuf>,
}

/// Lists the scans of each source, in order. A source is a BIDS folder, a table (`.csv`), or the path of a scan,
/// followed by the paths of other images of the same head, with commas between them. `also` names these other images:
/// by BIDS suffixes in folders, by columns in tables. If `also` is empty, T2w and FLAIR images of BIDS folders are
/// taken.
///
/// # Errors
/// The errors of [`subjects::list`].
pub fn list(sources: &[PathBuf], also: &[String]) -> Result<Vec<Scan>, Error> {
    let mut scans = Vec::new();
    for source in sources {
        let one = std::slice::from_ref(source);
        if source.is_dir() {
            let found = subjects::list(one, &[])?.subjects;
            scans.extend(found.into_iter().map(|subject| of_folder(subject, source, also)));
        } else if subjects::is_image(source) {
            scans.extend(subjects::list(one, &[])?.subjects.into_iter().map(of_images));
        } else {
            let columns: Vec<String> =
                std::iter::once(subjects::IMAGE).chain(also.iter().map(String::as_str)).map(Into::into).collect();
            let columns = if also.is_empty() { &[][..] } else { &columns };
            scans.extend(subjects::list(one, columns)?.subjects.into_iter().map(|subject| of_table(subject, also)));
        }
    }
    Ok(scans)
}

fn scan(subject: Subject, carried: Vec<(String, PathBuf)>, root: Option<PathBuf>) -> Scan {
    let image = subject.images.into_iter().next().unwrap_or_default();
    let Subject { name, mask, lesions, .. } = subject;
    Scan { name, image, mask, lesions, carried, left_out: Vec::new(), root }
}

fn of_folder(subject: Subject, root: &Path, also: &[String]) -> Scan {
    let image = subject.images[0].clone();
    let usual = || USUAL.map(str::to_owned).to_vec();
    let wanted = if also.is_empty() { usual() } else { also.to_vec() };
    let (mut carried, mut left_out) = (Vec::new(), Vec::new());
    for suffix in wanted {
        let mut beside = subjects::beside(&image, &suffix);
        match beside.len() {
            0 => {}
            1 => carried.extend(beside.pop().map(|path| (suffix, path))),
            _ => {
                let names: Vec<String> = beside.iter().map(|path| stem(path)).collect();
                let names = names.join(", ");
                left_out.push(format!(
                    "several {suffix} images beside the scan are left out: {names}; name one in a table"
                ));
            }
        }
    }
    Scan { left_out, ..scan(subject, carried, Some(root.into())) }
}

fn of_images(subject: Subject) -> Scan {
    let further = subject.images[1..].iter();
    let suffix = |image: &PathBuf| suffix_of(image).map_or_else(|| label(&stem(image)), str::to_owned);
    let carried = further.map(|image| (suffix(image), image.clone())).collect();
    scan(subject, carried, None)
}

fn of_table(subject: Subject, also: &[String]) -> Scan {
    let carried = also.iter().map(|name| label(name)).zip(subject.images[1..].iter().cloned()).collect();
    scan(subject, carried, None)
}
