//! Who the subjects are: image files as typed, a table (CSV), or a BIDS folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{CliError, SubjectsError};

/// One subject's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What its output files begin with.
    pub name: String,
    /// Its image.
    pub image: PathBuf,
    /// Which of its voxels count.
    pub mask: Option<PathBuf>,
    /// Its label map.
    pub labels: Option<PathBuf>,
}

/// The columns of a table; the first one must be there.
const COLUMNS: [&str; 4] = ["image", "subject", "mask", "labels"];

/// The subjects of each source, in order: a folder is taken for BIDS, `.csv` for a table, all else for an image.
/// `suffix` is the BIDS suffix of the images, such as `T1w`. Two subjects of one name are refused.
pub fn list(sources: &[PathBuf], suffix: &str) -> Result<Vec<Subject>, CliError> {
    let mut subjects = Vec::new();
    for source in sources {
        let is_table = source.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if source.is_dir() {
            subjects.extend(bids(source, suffix)?);
        } else if is_table {
            subjects.extend(table(source)?);
        } else {
            subjects.push(Subject { name: stem(source), image: source.clone(), mask: None, labels: None });
        }
    }
    let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
    for subject in &subjects {
        let usable =
            !subject.name.is_empty() && !subject.name.starts_with('.') && !subject.name.contains(['/', '\\', '\0']);
        if !usable {
            return Err(SubjectsError::Name { name: subject.name.clone(), image: subject.image.clone() }.into());
        }
        if let Some(first) = seen.insert(&subject.name, &subject.image) {
            let (first, second) = (first.into(), subject.image.clone());
            return Err(SubjectsError::Twice { name: subject.name.clone(), first, second }.into());
        }
    }
    Ok(subjects)
}

/// A file's name without the ends that say its format.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".nii").unwrap_or(name).to_owned()
}

/// A row a subject; paths are relative to the table's folder. An empty cell is none; without a name the image's is taken.
fn table(path: &Path) -> Result<Vec<Subject>, CliError> {
    let wrap = |source| CliError::Table { path: path.into(), source };
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_path(path).map_err(wrap)?;
    let header: Vec<String> = reader.headers().map_err(wrap)?.iter().map(str::to_owned).collect();
    // Spreadsheets put a byte order mark before the first name.
    let place = |column: &str| header.iter().position(|name| name.trim_start_matches('\u{feff}') == column);
    let column = COLUMNS[0];
    if place(column).is_none() {
        return Err(SubjectsError::MissingColumn { path: path.into(), column, found: header.join(", ") }.into());
    }
    if let Some(unknown) = header.iter().find(|name| !COLUMNS.contains(&name.trim_start_matches('\u{feff}'))) {
        let (path, column) = (path.into(), unknown.clone());
        return Err(SubjectsError::UnknownColumn { path, column, known: COLUMNS.join(", ") }.into());
    }
    let places = COLUMNS.map(place);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut subjects = Vec::new();
    for row in reader.records() {
        let row = row.map_err(wrap)?;
        let cell = |n: usize| places[n].and_then(|place| row.get(place)).filter(|cell| !cell.is_empty());
        let line = row.position().map_or(0, csv::Position::line);
        let image = cell(0).ok_or_else(|| SubjectsError::EmptyCell { path: path.into(), line, column })?;
        subjects.push(Subject {
            name: cell(1).map_or_else(|| stem(Path::new(image)), str::to_owned),
            image: folder.join(image),
            mask: cell(2).map(|cell| folder.join(cell)),
            labels: cell(3).map(|cell| folder.join(cell)),
        });
    }
    if subjects.is_empty() {
        Err(SubjectsError::NoneFound { path: path.into(), expected: "a row a subject".into() }.into())
    } else {
        Ok(subjects)
    }
}

/// `sub-*/anat/*_SUFFIX.nii[.gz]` and `sub-*/ses-*/anat/…` of a BIDS folder, by name; each image is a subject, named
/// as its file without the suffix.
fn bids(folder: &Path, suffix: &str) -> Result<Vec<Subject>, CliError> {
    let mut subjects = Vec::new();
    for person in entries(folder, "sub-")? {
        let sessions = entries(&person, "ses-")?;
        for place in std::iter::once(person).chain(sessions) {
            for image in entries(&place.join("anat"), "sub-")? {
                let stem = stem(&image);
                let is_image =
                    image.to_string_lossy().ends_with(".nii") || image.to_string_lossy().ends_with(".nii.gz");
                if let (true, Some(name)) =
                    (is_image, stem.strip_suffix(suffix).and_then(|rest| rest.strip_suffix('_')))
                {
                    subjects.push(Subject { name: name.to_owned(), image, mask: None, labels: None });
                }
            }
        }
    }
    let expected = format!("sub-*/anat/*_{suffix}.nii.gz");
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

    fn subject(name: &str, image: PathBuf) -> Subject {
        Subject { name: name.into(), image, mask: None, labels: None }
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
        let found = list(&["x/one_T1w.nii.gz".into(), table, bids], "T1w").expect("subjects");
        let labelled = Subject { labels: Some(folder.path().join("bl.nii")), ..subject("B", "/b.nii".into()) };
        let expected = [
            subject("one_T1w", "x/one_T1w.nii.gz".into()),
            subject("a", folder.path().join("a.nii.gz")),
            labelled,
            subject("sub-01_ses-b", second),
            subject("sub-02", first),
        ];
        assert_eq!(found, expected);
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
            let message = list(&[path], "T1w").expect_err(text).to_string();
            assert!(message.contains(word), "`{word}` is missing in: {message}");
            assert!(!text.contains("sub") || message.contains("t.csv") || message.contains("names"), "{message}");
        }
        let message = list(&[folder.path().join("empty")], "T1w").expect_err("nothing there").to_string();
        assert!(message.contains("empty") && message.contains("sub-*/anat/*_T1w.nii.gz"), "{message}");
    }
}
