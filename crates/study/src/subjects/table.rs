//! Reads the subjects of a table (CSV).

use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, Trim};

use super::error::Error;
use super::subject::{IMAGE, Subject};
use crate::words::stem;

/// Names of those columns of a table of subjects that do not hold images.
const COLUMNS: [&str; 5] = ["subject", "mask", "labels", "lesion", "date"];

/// Size of the largest table that is read, bytes: far more than the subjects of any study need.
const LARGEST: u64 = 64 << 20;

/// Reads one subject from each row of a table. Paths are relative to the table's folder. An empty cell of a mask,
/// label map or lesion means that the subject has no such file; commas join several lesions. A subject without a name gets the name of its first image. If no
/// channels are named, an unknown column is an error, because it may be misspelt.
pub fn read(path: &Path, channels: &[String]) -> Result<Vec<Subject>, Error> {
    let text = contents(path)?;
    // Spreadsheet programs write a byte order mark at the start of a file.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let wrap = |source| Error::Table { path: path.into(), source };
    let mut reader = ReaderBuilder::new().trim(Trim::All).flexible(true).from_reader(text);
    let header = reader.headers().map_err(wrap)?.clone();
    check_no_comment(path, text, &header)?;
    let wanted = if channels.is_empty() { vec![IMAGE.to_owned()] } else { channels.to_vec() };
    check_columns(path, &header, &wanted, !channels.is_empty())?;
    let place = |column: &str| header.iter().position(|name| name == column);
    let of_images: Vec<Option<usize>> = wanted.iter().map(|column| place(column)).collect();
    let [of_name, of_mask, of_labels, of_lesion, of_date] = COLUMNS.map(place);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut subjects = Vec::new();
    for row in reader.records() {
        let row = row.map_err(wrap)?;
        check_no_comment(path, text, &row)?;
        let line = line_of(&row);
        if row.len() != header.len() {
            return Err(Error::Cells { path: path.into(), line, expected: header.len(), found: row.len() });
        }
        let cell = |place: Option<usize>| place.and_then(|place| row.get(place)).filter(|cell| !cell.is_empty());
        let image = |(place, column): (&Option<usize>, &String)| match cell(*place) {
            Some(image) => Ok(folder.join(image)),
            None => Err(Error::EmptyCell { path: path.into(), line, column: column.clone() }),
        };
        let images = of_images.iter().zip(&wanted).map(image).collect::<Result<Vec<PathBuf>, Error>>()?;
        subjects.push(Subject {
            name: cell(of_name).map_or_else(|| stem(&images[0]), str::to_owned),
            images,
            mask: cell(of_mask).map(|cell| folder.join(cell)),
            labels: cell(of_labels).map(|cell| folder.join(cell)),
            date: cell(of_date).map(str::to_owned),
            lesions: cell(of_lesion)
                .iter()
                .flat_map(|cell| cell.split(','))
                .map(|path| folder.join(path.trim()))
                .collect(),
        });
    }
    match subjects.is_empty() {
        true => Err(Error::NoneFound { path: path.into(), expected: "a table with a row for each subject".into() }),
        false => Ok(subjects),
    }
}

/// Reads the bytes of a table, which must be a regular file: reading a pipe could wait for ever.
fn contents(path: &Path) -> Result<Vec<u8>, Error> {
    let wrap = |source| Error::Read { path: path.into(), source };
    let found = std::fs::metadata(path).map_err(wrap)?;
    if !found.is_file() {
        return Err(Error::NotAFile { path: path.into() });
    }
    if found.len() > LARGEST {
        return Err(Error::TooLarge { path: path.into(), largest: LARGEST, found: found.len() });
    }
    std::fs::read(path).map_err(wrap)
}

/// Checks the columns of a table of subjects: the `wanted` columns exist, and no column that is read occurs twice. An
/// unknown column is an error, unless the user named the columns of the channels (`named`).
fn check_columns(path: &Path, header: &StringRecord, wanted: &[String], named: bool) -> Result<(), Error> {
    let path = || path.to_owned();
    let count = |column: &str| header.iter().filter(|name| *name == column).count();
    if let Some(column) = wanted.iter().find(|column| count(column) == 0) {
        let found = if header.is_empty() { "none".to_owned() } else { header.iter().collect::<Vec<_>>().join(", ") };
        return Err(Error::MissingColumn { path: path(), column: column.clone(), found });
    }
    if let Some(column) = wanted.iter().map(String::as_str).chain(COLUMNS).find(|column| count(column) > 1) {
        return Err(Error::DuplicateColumn { path: path(), column: column.into() });
    }
    let known = |name: &str| name == IMAGE || COLUMNS.contains(&name);
    if let Some(unknown) = header.iter().find(|name| !named && !known(name)) {
        let known = [&[IMAGE], COLUMNS.as_slice()].concat().join(", ");
        return Err(Error::UnknownColumn { path: path(), column: unknown.into(), known });
    }
    Ok(())
}

/// Checks that a row does not look like a comment. Other programs that read the table could take a comment for a
/// subject, or could skip a subject whose name begins with `#`.
fn check_no_comment(path: &Path, text: &[u8], row: &StringRecord) -> Result<(), Error> {
    let start = row.position().map_or(0, csv::Position::byte) as usize;
    match text.get(start) {
        Some(b'#') => Err(Error::Comment { path: path.into(), line: line_of(row) }),
        _ => Ok(()),
    }
}

/// Number of the line of the table in which a row begins, counted from 1.
fn line_of(row: &StringRecord) -> u64 {
    row.position().map_or(1, csv::Position::line)
}
