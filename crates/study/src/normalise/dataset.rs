//! A BIDS dataset of derivatives: the files that describe the dataset.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::listing::Scan;
use crate::Error;

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
    pub fn texts(&self) -> Result<Vec<(PathBuf, String)>, Error> {
        let mut description = json!({
            "Name": "Normalised heads",
            "BIDSVersion": BIDS,
            "DatasetType": "derivative",
            "GeneratedBy": [{ "Name": "antsreg-gpu", "Version": env!("CARGO_PKG_VERSION") }],
        });
        let absolute = self.raw.as_deref().and_then(|raw| std::path::absolute(raw).ok());
        if let (Some(raw), Some(object)) = (absolute, description.as_object_mut()) {
            object.insert("DatasetLinks".into(), json!({ "raw": format!("file://{}", raw.display()) }));
        }
        let [path, ignored] = ["dataset_description.json", ".bidsignore"].map(|name| self.folder.join(name));
        let wrap = |source| Error::Json { path: path.clone(), source };
        let text = serde_json::to_string_pretty(&description).map_err(wrap)? + "\n";
        Ok(vec![(path, text), (ignored, IGNORED.into())])
    }
}
