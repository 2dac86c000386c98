//! Who the subjects are: image files as typed, a table (CSV), or a BIDS folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{CliError, SubjectsError};

/// One subject's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What its output files begin with.
    pub name: String,
    /// Its images, one a channel.
    pub images: Vec<PathBuf>,
    /// Which of their voxels count.
    pub mask: Option<PathBuf>,
    /// Its label map.
    pub labels: Option<PathBuf>,
}

/// The subjects, and what their channels are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// In order.
    pub subjects: Vec<Subject>,
    /// As many as each subject has images.
    pub channels: Vec<String>,
}

/// Columns of a table beside those of the images.
const COLUMNS: [&str; 3] = ["subject", "mask", "labels"];
/// The column of the image, unless channels are named.
const IMAGE: &str = "image";
/// The BIDS suffix of what most studies take, unless channels are named.
const SUFFIX: &str = "T1w";

/// The subjects of each source, in order: a folder is taken for BIDS, `.csv` for a table, all else for images, several channels
/// of one subject joined by commas. `channels` are columns of tables and suffixes of BIDS files. Two subjects of one name
/// are refused, and subjects with more or fewer channels than the others.
pub fn list(sources: &[PathBuf], channels: &[String]) -> Result<Listing, CliError> {
    let mut subjects = Vec::new();
    let or = |usual: &str| if channels.is_empty() { vec![usual.to_owned()] } else { channels.to_vec() };
    let mut usual = IMAGE;
    for source in sources {
        if source.is_dir() {
            usual = SUFFIX;
            subjects.extend(bids(source, &or(SUFFIX))?);
        } else if is_image(source) {
            let images = channels_of(source);
            subjects.push(Subject { name: stem(&images[0]), images, mask: None, labels: None });
        } else {
            subjects.extend(table(source, channels)?);
        }
    }
    let channels = match subjects.first().map_or(1, |first| first.images.len()) {
        several if several > 1 && channels.is_empty() => (1..=several).map(|n| format!("channel{n}")).collect(),
        _ => or(usual),
    };
    let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
    for subject in &subjects {
        let image = &subject.images[0];
        let usable =
            !subject.name.is_empty() && !subject.name.starts_with('.') && !subject.name.contains(['/', '\\', '\0']);
        if !usable {
            return Err(SubjectsError::Name { name: subject.name.clone(), image: image.clone() }.into());
        }
        if let Some(first) = seen.insert(&subject.name, image) {
            let (first, second) = (first.into(), image.clone());
            return Err(SubjectsError::Twice { name: subject.name.clone(), first, second }.into());
        }
        let (expected, found) = (channels.len(), subject.images.len());
        if found != expected {
            return Err(SubjectsError::Channels { of: subject.name.clone(), expected, found }.into());
        }
    }
    Ok(Listing { subjects, channels })
}

/// Whether a source is neither a table nor a folder.
pub fn is_image(source: &Path) -> bool {
    let is_table = source.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    !is_table && !source.is_dir()
}

/// The files of one argument: several channels are joined by commas.
pub fn channels_of(argument: &Path) -> Vec<PathBuf> {
    match argument.to_str() {
        Some(text) if !argument.exists() => text.split(',').map(PathBuf::from).collect(),
        _ => vec![argument.into()],
    }
}

/// A file's name without the ends that say its format.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = [".nii", ".hdr", ".img"].iter().find_map(|extension| name.strip_suffix(extension));
    stem.unwrap_or(name).to_owned()
}

/// A row a subject; paths are relative to the table's folder. An empty cell is none; without a name the first image's is
/// taken. Where no channels are named, an unknown column is refused: it may be a misspelt one.
fn table(path: &Path, channels: &[String]) -> Result<Vec<Subject>, CliError> {
    let wrap = |source| CliError::Table { path: path.into(), source };
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_path(path).map_err(wrap)?;
    let header = reader.headers().map_err(wrap)?;
    // Spreadsheets put a byte order mark before the first name.
    let header: Vec<String> = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
    let place = |column: &str| header.iter().position(|name| name == column);
    let wanted = if channels.is_empty() { vec![IMAGE.to_owned()] } else { channels.to_vec() };
    if let Some(column) = wanted.iter().find(|column| place(column).is_none()) {
        let (path, column) = (path.into(), column.clone());
        let found = if header.is_empty() { "none".to_owned() } else { header.join(", ") };
        return Err(SubjectsError::MissingColumn { path, column, found }.into());
    }
    let known = |name: &str| name == IMAGE || COLUMNS.contains(&name);
    if let Some(unknown) = header.iter().find(|name| channels.is_empty() && !known(name)) {
        let known = [&[IMAGE], COLUMNS.as_slice()].concat().join(", ");
        return Err(SubjectsError::UnknownColumn { path: path.into(), column: unknown.clone(), known }.into());
    }
    let of_images: Vec<Option<usize>> = wanted.iter().map(|column| place(column)).collect();
    let [of_name, of_mask, of_labels] = COLUMNS.map(place);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut subjects = Vec::new();
    for row in reader.records() {
        let row = row.map_err(wrap)?;
        let cell = |place: Option<usize>| place.and_then(|place| row.get(place)).filter(|cell| !cell.is_empty());
        let line = row.position().map_or(0, csv::Position::line);
        let image = |(place, column): (&Option<usize>, &String)| match cell(*place) {
            Some(image) => Ok(folder.join(image)),
            None => Err(SubjectsError::EmptyCell { path: path.into(), line, column: column.clone() }.into()),
        };
        let images = of_images.iter().zip(&wanted).map(image).collect::<Result<Vec<PathBuf>, CliError>>()?;
        subjects.push(Subject {
            name: cell(of_name).map_or_else(|| stem(&images[0]), str::to_owned),
            images,
            mask: cell(of_mask).map(|cell| folder.join(cell)),
            labels: cell(of_labels).map(|cell| folder.join(cell)),
        });
    }
    if subjects.is_empty() {
        Err(SubjectsError::NoneFound { path: path.into(), expected: "a row a subject".into() }.into())
    } else {
        Ok(subjects)
    }
}

/// `sub-*/anat/*_SUFFIX.nii[.gz]` and `sub-*/ses-*/anat/…` of a BIDS folder, by name. Each image with the first suffix is a
/// subject, named as its file without the suffix; its other channels lie beside it. One that is missing is named as it
/// would be called, so that it is missed when the subject is read.
fn bids(folder: &Path, suffixes: &[String]) -> Result<Vec<Subject>, CliError> {
    let mut subjects = Vec::new();
    for person in entries(folder, "sub-")? {
        let sessions = entries(&person, "ses-")?;
        for place in std::iter::once(person).chain(sessions) {
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
                    // Acquisitions of several kinds have further words in their names.
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
    if subjects.is_empty() {
        Err(SubjectsError::NoneFound { path: folder.into(), expected }.into())
    } else {
        Ok(subjects)
    }
}

/// What is in a folder under names that begin so, sorted; nothing if there is no such folder.
fn entries(folder: &Path, beginning: &str) -> Result<Vec<PathBuf>, CliError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let wrap = |source| CliError::Read { path: folder.into(), source };
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

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path
    }

    fn subject(name: &str, images: &[PathBuf]) -> Subject {
        Subject { name: name.into(), images: images.to_vec(), mask: None, labels: None }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_table_without_the_images_is_told_what_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, found) in [("", "found none"), ("subject,labels\nA,a.nii\n", "found subject, labels")] {
            let table = write(folder.path(), "some.csv", text);
            let error = list(std::slice::from_ref(&table), &[]).expect_err("no images");
            assert_eq!(error.to_string(), format!("{}: there is no column `image`; {found}", table.display()));
        }
    }

    #[test]
    fn images_tables_and_folders_go_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let table = write(folder.path(), "some.csv", "image, subject ,labels\na.nii.gz,,\n/b.nii,B, bl.nii\n");
        let bids = folder.path().join("study");
        let first = write(&bids, "sub-02/anat/sub-02_T1w.nii.gz", "");
        let second = write(&bids, "sub-01/ses-b/anat/sub-01_ses-b_T1w.nii", "");
        for other in ["sub-02/anat/sub-02_T1w.json", "sub-02/anat/sub-02_T2w.nii.gz", "derivatives/sub-02_T1w.nii"] {
            write(&bids, other, "");
        }
        let found = list(&["x/one_T1w.nii.gz".into(), table, bids], &[]).expect("subjects");
        let labelled = Subject { labels: Some(folder.path().join("bl.nii")), ..subject("B", &["/b.nii".into()]) };
        let expected = [
            subject("one_T1w", &["x/one_T1w.nii.gz".into()]),
            subject("a", &[folder.path().join("a.nii.gz")]),
            labelled,
            subject("sub-01_ses-b", &[second]),
            subject("sub-02", &[first]),
        ];
        assert_eq!(found.subjects, expected);
    }

    #[test]
    fn channels_are_joined_by_commas_or_named() {
        let found = list(&["a_t1.nii,a_t2.nii".into(), "b_t1.hdr,b_t2.nii".into()], &[]).expect("two");
        assert_eq!(found.channels, ["channel1", "channel2"]);
        assert_eq!(found.subjects[1], subject("b_t1", &["b_t1.hdr".into(), "b_t2.nii".into()]));
        assert!(list(&["a.nii,b.nii".into(), "c.nii".into()], &[]).is_err());
        assert!(list(&["a.nii".into()], &names(&["t1", "t2"])).is_err());
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let text = "\u{feff}subject,t2, t1,labels,age\nA,a2.nii,a1.nii,al.nii,3\nB,b2.nii,/b1.nii,,4\n";
        let path = write(folder.path(), "s.csv", text);
        let found = list(&[path], &names(&["t1", "t2"])).expect("two rows");
        let labelled = Subject { labels: Some(at("al.nii")), ..subject("A", &[at("a1.nii"), at("a2.nii")]) };
        assert_eq!(found.subjects, [labelled, subject("B", &["/b1.nii".into(), at("b2.nii")])]);
        let bids = at("study");
        for name in ["sub-1/anat/sub-1_T1w", "sub-1/anat/sub-1_acq-x_T2w", "sub-2/anat/sub-2_T1w"] {
            write(&bids, &format!("{name}.nii.gz"), "");
        }
        let found = list(std::slice::from_ref(&bids), &names(&["T1w", "T2w"])).expect("two");
        let file = |name: &str| bids.join(format!("{name}.nii.gz"));
        let expected = [
            subject("sub-1", &[file("sub-1/anat/sub-1_T1w"), file("sub-1/anat/sub-1_acq-x_T2w")]),
            subject("sub-2", &[file("sub-2/anat/sub-2_T1w"), file("sub-2/anat/sub-2_T2w")]),
        ];
        assert_eq!(found.subjects, expected);
        assert_eq!(found.channels, ["T1w", "T2w"]);
        assert_eq!(list(&[bids], &[]).expect("two").channels, ["T1w"]);
    }

    #[test]
    fn refusals_name_the_file_and_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("empty")).expect("a folder");
        let cases = [
            ("subject,file\na,b\n", "`image`"),
            ("subject,image,age\na,b,3\n", "`age`"),
            ("subject,image\na,\n", "line 2"),
            ("subject,image\na,b,c\n", "line: 2"),
            ("subject,image\n", "a row a subject"),
            ("subject,image\na/b,c\n", "`a/b`"),
            ("subject,image\na,b\na,c\n", "`a`"),
        ];
        for (text, word) in cases {
            let path = write(folder.path(), "t.csv", text);
            let message = list(&[path], &[]).expect_err(text).to_string();
            assert!(message.contains(word), "`{word}` is missing in: {message}");
            assert!(!text.contains("sub") || message.contains("t.csv") || message.contains("names"), "{message}");
        }
        let message = list(&[folder.path().join("empty")], &[]).expect_err("nothing there").to_string();
        assert!(message.contains("empty") && message.contains("sub-*/anat/*_T1w.nii.gz"), "{message}");
    }
}
