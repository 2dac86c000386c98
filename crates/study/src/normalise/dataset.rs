//! A BIDS dataset of derivatives: the files that describe the dataset.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::listing::Scan;
use crate::Error;
use crate::batch::TextFile;

/// Name of this program in the description of a dataset.
const PROGRAM: &str = "antsreg-gpu";

/// The version of the BIDS standard that the file names follow.
const BIDS: &str = "1.9.0";

/// Patterns of files in the dataset whose names BIDS does not define; the content of `.bidsignore`.
const IGNORED: &str = "*.html\nlogs/\nsummary.csv\n*_xfm.*\n";

/// A dataset of derivatives in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// Path of the folder of the dataset.
    pub folder: PathBuf,
    /// The BIDS dataset of the scans; `None` if the scans come from several datasets or from none.
    raw: Option<PathBuf>,
}

impl Dataset {
    /// The BIDS dataset in `folder` that receives the images, transforms and masks made from `scans`.
    pub fn of(folder: &Path, scans: &[Scan]) -> Dataset {
        let first = scans.first().and_then(|scan| scan.root.clone());
        let raw = first.filter(|root| scans.iter().all(|scan| scan.root.as_ref() == Some(root)));
        Dataset { folder: folder.into(), raw }
    }

    /// The files that describe the BIDS dataset, with their texts.
    ///
    /// # Errors
    /// A description that cannot be converted to JSON.
    pub fn texts(&self) -> Result<Vec<TextFile>, Error> {
        let mut description = json!({
            "Name": "Normalised heads",
            "BIDSVersion": BIDS,
            "DatasetType": "derivative",
            "GeneratedBy": [{ "Name": PROGRAM, "Version": env!("CARGO_PKG_VERSION") }],
        });
        let absolute = self.raw.as_deref().and_then(|raw| std::path::absolute(raw).ok());
        if let (Some(raw), Some(object)) = (absolute, description.as_object_mut()) {
            object.insert("DatasetLinks".into(), json!({ "raw": format!("file://{}", raw.display()) }));
        }
        let [path, ignored] = ["dataset_description.json", ".bidsignore"].map(|name| self.folder.join(name));
        let wrap = |source| Error::Json { path: path.clone(), source };
        let text = serde_json::to_string_pretty(&description).map_err(wrap)? + "\n";
        let ignored_text = with_lines_of(&std::fs::read_to_string(&ignored).unwrap_or_default());
        Ok(vec![
            TextFile { path, text, is_own: is_own_description },
            TextFile { path: ignored, text: ignored_text, is_own: is_own_list },
        ])
    }
}

/// Whether the description of a dataset names this program among those that made the dataset.
fn is_own_description(bytes: &[u8]) -> bool {
    let description: Option<Value> = serde_json::from_slice(bytes).ok();
    let makers = description.as_ref().and_then(|description| description.get("GeneratedBy")?.as_array());
    makers.is_some_and(|makers| makers.iter().any(|maker| maker.get("Name").is_some_and(|name| name == PROGRAM)))
}

/// Whether a list of ignored files is that of this program, with or without further lines of the user.
fn is_own_list(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    IGNORED.lines().all(|line| lines.contains(&line))
}

/// The list of ignored files, followed by those lines of an earlier list that are not in it.
fn with_lines_of(earlier: &str) -> String {
    let further = earlier.lines().filter(|line| !IGNORED.lines().any(|own| own == *line));
    further.fold(IGNORED.to_owned(), |text, line| text + line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_other_programs_are_recognised() {
        let folder = tempfile::tempdir().expect("a folder");
        let texts = Dataset::of(folder.path(), &[]).texts().expect("texts");
        assert!(texts.iter().all(|text| (text.is_own)(text.text.as_bytes())));
        for other in [&br#"{"Name": "raw"}"#[..], br#"{"GeneratedBy": [{"Name": "fMRIPrep"}]}"#, b"", b"[1]"] {
            assert!(!is_own_description(other), "{}", String::from_utf8_lossy(other));
        }
        assert!(!is_own_list(b"*.html\nfigures/\n"));
    }

    #[test]
    fn lines_that_a_user_has_added_to_the_list_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(".bidsignore"), format!("mine/\n{IGNORED}")).expect("a file");
        let texts = Dataset::of(folder.path(), &[]).texts().expect("texts");
        assert_eq!(texts[1].text, format!("{IGNORED}mine/\n"));
        assert!((texts[1].is_own)(b"mine/\n*.html\nlogs/\nsummary.csv\n*_xfm.*\n"));
    }
}
