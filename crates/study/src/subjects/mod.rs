//! The subjects of a study: from image files, a table (CSV), or a BIDS folder.

mod bids;
mod error;
mod size;
mod subject;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use bids::beside;
pub use error::Error;
pub use size::largest_grid;
pub(crate) use subject::IMAGE;
pub use subject::Subject;

use crate::words::stem;

/// Subjects and the names of their channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The subjects of all sources (folders, tables and image files), in the order of the sources.
    pub subjects: Vec<Subject>,
    /// The names of the image channels, in the order of each subject's images.
    pub channels: Vec<String>,
}

/// BIDS suffix of the images, if no channels are named.
const SUFFIX: &str = "T1w";

/// Lists the subjects of each source, in order. A source is a BIDS folder, a table (`.csv`), or the image of one
/// subject; commas join the images of several channels of a subject. `channels` are the names of the table columns and
/// the BIDS suffixes of the images. If `channels` is empty, the column is `image` and the suffix `T1w`.
///
/// # Errors
/// If a table or folder cannot be read or lists no subject, if subjects have different numbers of channels, if a name
/// cannot be used in file names and tables, or if two names differ only in upper and lower case, or not at all.
pub fn list(sources: &[PathBuf], channels: &[String]) -> Result<Listing, Error> {
    let mut subjects = Vec::new();
    let or = |usual: &str| if channels.is_empty() { vec![usual.to_owned()] } else { channels.to_vec() };
    let mut usual = IMAGE;
    for source in sources {
        if source.is_dir() {
            usual = SUFFIX;
            subjects.extend(bids::read(source, &or(SUFFIX))?);
        } else if is_image(source) {
            let images = channels_of(source);
            subjects.push(Subject { name: stem(&images[0]), images, ..Subject::default() });
        } else {
            subjects.extend(table::read(source, channels)?);
        }
    }
    let channels = match subjects.first().map_or(1, |first| first.images.len()) {
        several if several > 1 && channels.is_empty() => (1..=several).map(|n| format!("channel{n}")).collect(),
        _ => or(usual),
    };
    check(&subjects, channels.len())?;
    Ok(Listing { subjects, channels })
}

/// Checks the name and the number of images of each subject.
fn check(subjects: &[Subject], channels: usize) -> Result<(), Error> {
    check_names(subjects)?;
    for subject in subjects {
        let found = subject.images.len();
        if found != channels {
            return Err(Error::Channels { of: subject.name.clone(), expected: channels, found });
        }
    }
    Ok(())
}

/// Checks that the names of the subjects can be used in file names, and that they differ.
pub(crate) fn check_names(subjects: &[Subject]) -> Result<(), Error> {
    let mut seen: BTreeMap<String, &Subject> = BTreeMap::new();
    for subject in subjects {
        check_name(subject)?;
        if let Some(first) = seen.insert(subject.name.to_lowercase(), subject) {
            return Err(Error::Twice {
                names: [first, subject].map(|one| one.name.clone()),
                images: [first, subject].map(|one| one.images[0].clone()),
            });
        }
    }
    Ok(())
}

/// Checks that a name can be the start of a file name, and does no harm in a table or on a terminal.
fn check_name(Subject { name, images, .. }: &Subject) -> Result<(), Error> {
    let image = || images[0].clone();
    if name.chars().any(char::is_control) {
        return Err(Error::ControlCharacter { name: name.clone(), image: image() });
    }
    if name.starts_with(['=', '+', '-', '@']) {
        return Err(Error::Formula { name: name.clone(), image: image() });
    }
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
        return Err(Error::Name { name: name.clone(), image: image() });
    }
    Ok(())
}

/// Whether a source of subjects is an image, and not a table (`.csv`) or a folder.
pub fn is_image(source: &Path) -> bool {
    let is_table = source.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    !is_table && !source.is_dir()
}

/// The files of one command-line argument, in which commas join the paths of several channels.
pub fn channels_of(argument: &Path) -> Vec<PathBuf> {
    match argument.to_str() {
        Some(text) if !argument.exists() => text.split(',').map(PathBuf::from).collect(),
        _ => vec![argument.into()],
    }
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
        Subject { name: name.into(), images: images.to_vec(), ..Subject::default() }
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
    fn lesions_stand_in_a_column_and_beside_images_of_bids() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let path = write(folder.path(), "t.csv", "subject,image,lesion\na,a.nii,\"l.nii, m.nii\"\nb,b.nii,\n");
        let found = list(&[path], &[]).expect("two rows").subjects;
        assert_eq!(found[0].lesions, [at("l.nii"), at("m.nii")]);
        assert!(found[1].lesions.is_empty());
        let bids = at("study");
        let beside = ["T1w", "T1w_label-lesion_roi", "desc-lesion_mask", "T2w_label-lesion_roi", "desc-brain_mask"];
        for name in
            beside.map(|end| format!("sub-1/anat/sub-1_{end}")).iter().chain(&["sub-1/anat/sub-1_acq-x_T1w".into()])
        {
            write(&bids, &format!("{name}.nii.gz"), "");
        }
        let found = list(std::slice::from_ref(&bids), &[]).expect("two images").subjects;
        let file = |end: &str| bids.join(format!("sub-1/anat/sub-1_{end}.nii.gz"));
        assert_eq!(found[0].lesions, [file("T1w_label-lesion_roi"), file("desc-lesion_mask")]);
        assert!(found[1].lesions.is_empty(), "a mask belongs to the image of its name");
    }

    #[test]
    fn a_quoted_name_may_begin_as_comments_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), "t.csv", "subject,image\n\"#1\",b\n");
        assert_eq!(list(&[path], &[]).expect("one").subjects[0].name, "#1");
    }

    #[test]
    fn columns_beside_named_channels_may_be_twice_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), "t.csv", "subject,t1,age,age\na,b,3,4\n");
        assert_eq!(list(&[path], &names(&["t1"])).expect("one").subjects.len(), 1);
    }

    #[test]
    fn only_files_of_a_sensible_size_are_tables() {
        let folder = tempfile::tempdir().expect("a folder");
        let large = folder.path().join("large.csv");
        std::fs::File::create(&large).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        let message = list(&[large], &[]).expect_err("too large").to_string();
        assert!(message.contains("large.csv: the file has 1099511627776 bytes"), "{message}");
        #[cfg(unix)]
        {
            let device = folder.path().join("zero.csv");
            std::os::unix::fs::symlink("/dev/zero", &device).expect("a link");
            let message = list(&[device], &[]).expect_err("a device").to_string();
            assert!(message.contains("zero.csv: is a pipe or a device"), "{message}");
        }
    }

    #[test]
    fn refusals_name_the_file_and_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("empty")).expect("a folder");
        let cases = [
            ("subject,file\na,b\n", "`image`"),
            ("subject,image,age\na,b,3\n", "`age`"),
            ("subject,image\na,\n", "line 2"),
            ("subject,image\na,b,c\n", "line 2: expected 2 cells, one for each column, found 3"),
            ("subject,image\n", "a row for each subject"),
            ("subject,image\na/b,c\n", "`a/b`"),
            ("subject,image\na,b\na,c\n", "`a`"),
            ("subject,image\na,b\nA,c\n", "`a` and `A`"),
            ("subject,image,image\na,b,c\n", "two columns `image`"),
            ("subject,image\na,b\n#c,d\n", "line 3 begins with `#`"),
            ("subject,image\na,b\n# all above are old\nc,d\n", "line 3 begins with `#`"),
            ("\u{feff}#subject,image\na,b\n", "line 1 begins with `#`"),
            ("subject,image\n\"a\nb\",c\n", r"a\nb"),
            ("subject,image\n\u{1b}[2Ja,c\n", r"\u{1b}[2Ja"),
            ("subject,image\n=cmd|' /C calc'!A0,c\n", "formula"),
            ("subject,image\n@a,c\n", "formula"),
        ];
        for (text, word) in cases {
            let path = write(folder.path(), "t.csv", text);
            let message = list(&[path], &[]).expect_err(text).to_string();
            assert!(message.contains(word), "`{word}` is missing in: {message}");
            assert!(!text.contains("sub") || message.contains("t.csv") || message.contains("name"), "{message}");
        }
        let message = list(&[folder.path().join("empty")], &[]).expect_err("nothing there").to_string();
        assert!(message.contains("empty") && message.contains("sub-*/anat/*_T1w.nii.gz"), "{message}");
    }
}
