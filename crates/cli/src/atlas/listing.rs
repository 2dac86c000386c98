//! The subjects as given: images, a CSV file, or a BIDS folder.

use std::path::{Path, PathBuf};

use super::Error;
use super::args::Args;
use crate::error::CliError;

/// A subject's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// One image a channel.
    pub images: Vec<PathBuf>,
    /// Its label map.
    pub labels: Option<PathBuf>,
}

/// The subjects and the names of their channels.
pub fn subjects(args: &Args) -> Result<(Vec<Listed>, Vec<String>), CliError> {
    let (mut listed, channels) = match args.subjects.as_slice() {
        [folder] if folder.is_dir() => bids(folder, &or(&args.channels, "T1w"))?,
        [csv] if extension_is(csv, "csv") => table(csv, &or(&args.channels, "image"))?,
        images => typed(images, &args.channels)?,
    };
    if !args.labels.is_empty() {
        if args.labels.len() != listed.len() {
            let (expected, found) = (listed.len(), args.labels.len());
            return Err(Error::Count { what: "--labels, one a subject".into(), expected, found }.into());
        }
        for (subject, labels) in listed.iter_mut().zip(&args.labels) {
            subject.labels = Some(labels.clone());
        }
    }
    for (n, subject) in listed.iter().enumerate() {
        check_name(&subject.name)?;
        if listed[..n].iter().any(|other| other.name == subject.name) {
            return Err(Error::SameName { name: subject.name.clone() }.into());
        }
    }
    channels.iter().try_for_each(|name| check_name(name))?;
    Ok((listed, channels))
}

/// The files of one argument: several channels are joined by commas.
pub fn channels_of(argument: &Path) -> Vec<PathBuf> {
    match argument.to_str() {
        Some(text) if !argument.exists() => text.split(',').map(PathBuf::from).collect(),
        _ => vec![argument.into()],
    }
}

fn or(channels: &[String], default: &str) -> Vec<String> {
    if channels.is_empty() { vec![default.to_owned()] } else { channels.to_vec() }
}

fn extension_is(path: &Path, expected: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(expected))
}

/// A name that is part of file names.
fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    match name.starts_with(char::is_alphanumeric) && name.chars().all(plain) {
        true => Ok(()),
        false => Err(Error::BadName { name: name.into() }),
    }
}

/// A file's name without what says its format.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = [".nii", ".hdr", ".img"].iter().find_map(|extension| stem.strip_suffix(extension)).unwrap_or(stem);
    stem.to_owned()
}

fn typed(arguments: &[PathBuf], channels: &[String]) -> Result<(Vec<Listed>, Vec<String>), CliError> {
    let files: Vec<Vec<PathBuf>> = arguments.iter().map(|argument| channels_of(argument)).collect();
    let count = files.first().map_or(1, Vec::len);
    let names: Vec<String> = match channels {
        [] if count == 1 => vec!["image".into()],
        [] => (1..=count).map(|n| format!("channel{n}")).collect(),
        named => named.to_vec(),
    };
    for (argument, files) in arguments.iter().zip(&files) {
        if files.len() != names.len() {
            let what = format!("images of {}, one a channel", argument.display());
            return Err(Error::Count { what, expected: names.len(), found: files.len() }.into());
        }
    }
    let listed = files.into_iter().map(|images| Listed { name: stem(&images[0]), images, labels: None });
    Ok((listed.collect(), names))
}

fn table(path: &Path, channels: &[String]) -> Result<(Vec<Listed>, Vec<String>), CliError> {
    let wrap = |source| Error::Csv { path: path.into(), source };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(wrap)?;
    let header = reader.headers().map_err(wrap)?.clone();
    let column = |name: &str| header.iter().position(|found| found == name);
    let of_channels = channels
        .iter()
        .map(|name| {
            let found = || header.iter().map(String::from).collect();
            column(name).ok_or_else(|| Error::NoColumn { path: path.into(), column: name.clone(), found: found() })
        })
        .collect::<Result<Vec<usize>, Error>>()?;
    let (of_name, of_labels) = (column("subject"), column("labels"));
    // Files are looked for from where the table lies.
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut listed = Vec::new();
    for row in reader.records() {
        let row = row.map_err(wrap)?;
        let cell = |column: usize| row.get(column).unwrap_or_default();
        let images: Vec<PathBuf> = of_channels.iter().map(|&column| folder.join(cell(column))).collect();
        let name = of_name.map(cell).filter(|name| !name.is_empty());
        let labels = of_labels.map(cell).filter(|cell| !cell.is_empty()).map(|cell| folder.join(cell));
        listed.push(Listed { name: name.map_or_else(|| stem(&images[0]), String::from), images, labels });
    }
    Ok((listed, channels.to_vec()))
}

/// `sub-*/anat/` and `sub-*/ses-*/anat/`: a session is a subject of its own.
fn bids(folder: &Path, channels: &[String]) -> Result<(Vec<Listed>, Vec<String>), CliError> {
    let mut listed = Vec::new();
    for subject in entries(folder, "sub-")? {
        let sessions = entries(&subject, "ses-")?;
        let places = if sessions.is_empty() { vec![subject] } else { sessions };
        for place in places {
            let anat = place.join("anat");
            if !anat.is_dir() {
                continue;
            }
            let files = entries(&anat, "sub-")?;
            let of_channel = |channel: &String| {
                let ends = [format!("_{channel}.nii.gz"), format!("_{channel}.nii")];
                files.iter().find(|file| ends.iter().any(|end| file.to_string_lossy().ends_with(end))).cloned()
            };
            let found: Vec<Option<PathBuf>> = channels.iter().map(of_channel).collect();
            // Without any channel it is another kind of session; with some, the others are missing.
            if found.iter().all(Option::is_none) {
                continue;
            }
            let images: Vec<PathBuf> = found
                .into_iter()
                .zip(channels)
                .map(|(file, channel)| file.unwrap_or_else(|| anat.join(format!("{channel}.nii.gz"))))
                .collect();
            let relative = place.strip_prefix(folder).unwrap_or(&place);
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            listed.push(Listed { name: parts.join("_"), images, labels: None });
        }
    }
    if listed.is_empty() {
        return Err(Error::EmptyBids { path: folder.into(), suffix: channels[0].clone() }.into());
    }
    Ok((listed, channels.to_vec()))
}

/// What lies in a folder under names of this beginning, sorted.
fn entries(folder: &Path, beginning: &str) -> Result<Vec<PathBuf>, CliError> {
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

    #[test]
    fn names_are_those_of_the_files() {
        assert_eq!(stem(Path::new("a/1000_t1.nii.gz")), "1000_t1");
        assert_eq!(stem(Path::new("x.y.nii")), "x.y");
        assert!(check_name("sub-01_ses-1").is_ok());
        for name in ["", "-a", "../a", "a b", ".a"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn channels_are_joined_by_commas() {
        let (listed, names) = typed(&["a_t1.nii,a_t2.nii".into(), "b_t1.nii,b_t2.nii".into()], &[]).expect("two");
        assert_eq!(names, ["channel1", "channel2"]);
        assert_eq!(listed[1].images, [PathBuf::from("b_t1.nii"), "b_t2.nii".into()]);
        assert!(typed(&["a.nii,b.nii".into(), "c.nii".into()], &[]).is_err());
        assert!(typed(&["a.nii".into()], &["t1".into(), "t2".into()]).is_err());
    }

    #[test]
    fn a_table_names_columns() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.csv");
        std::fs::write(&path, "subject,t2, t1,labels,age\nA,a2.nii,a1.nii,al.nii,3\nB,b2.nii,/b1.nii,,4\n")
            .expect("a file");
        let (listed, _) = table(&path, &["t1".into(), "t2".into()]).expect("two rows");
        let at = |name: &str| folder.path().join(name);
        assert_eq!(
            listed[0],
            Listed { name: "A".into(), images: vec![at("a1.nii"), at("a2.nii")], labels: Some(at("al.nii")) }
        );
        assert_eq!(
            listed[1],
            Listed { name: "B".into(), images: vec!["/b1.nii".into(), at("b2.nii")], labels: None }
        );
        let error = table(&path, &["image".into()]).expect_err("no such column").to_string();
        assert!(error.contains("`image`") && error.contains("subject, t2, t1, labels, age"), "{error}");
    }

    #[test]
    fn a_bids_folder_has_sessions_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        for file in
            ["sub-02/ses-a/anat/sub-02_ses-a_T1w.nii.gz", "sub-02/ses-b/func/x.nii", "sub-01/anat/sub-01_T1w.nii"]
        {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "").expect("a file");
        }
        let (listed, _) = bids(folder.path(), &["T1w".into()]).expect("two");
        let names: Vec<&str> = listed.iter().map(|subject| subject.name.as_str()).collect();
        assert_eq!(names, ["sub-01", "sub-02_ses-a"]);
        assert!(bids(folder.path(), &["FLAIR".into()]).is_err());
    }
}
