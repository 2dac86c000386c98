//! Atlases and their files, given on the command line or in tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::AtlasesError;
use crate::words::stem;
use crate::{Error, subjects};

/// One atlas, `IMAGE=LABELS`, or a table of atlases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtlasSource {
    /// One atlas.
    Files {
        /// Path of the image.
        image: PathBuf,
        /// Path of the label map.
        labels: PathBuf,
    },
    /// A table (CSV) with a row for each atlas and the columns `image`, `labels` and optionally `subject` and `mask`.
    Table(PathBuf),
}

/// Error: a text names neither an atlas nor a table of atlases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected the files of an atlas, IMAGE=LABELS, or a table of atlases (.csv), found `{found}`")]
pub struct NotAnAtlas {
    /// The given text, which names neither an atlas nor a table of atlases.
    pub found: String,
}

impl FromStr for AtlasSource {
    type Err = NotAnAtlas;

    fn from_str(text: &str) -> Result<AtlasSource, NotAnAtlas> {
        let malformed = || NotAnAtlas { found: text.into() };
        if text.to_lowercase().ends_with(".csv") && !text.contains('=') {
            return Ok(AtlasSource::Table(text.into()));
        }
        let (image, labels) = text.split_once('=').ok_or_else(malformed)?;
        if image.is_empty() || labels.is_empty() || labels.contains('=') {
            return Err(malformed());
        }
        Ok(AtlasSource::Files { image: image.into(), labels: labels.into() })
    }
}

/// The files and the name of an atlas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atlas {
    /// Name of the atlas in messages and file names: from the table, or the image's file name without extension.
    pub name: String,
    /// Path of the image.
    pub image: PathBuf,
    /// Path of the label map of the atlas.
    pub labels: PathBuf,
    /// Path of the mask; `None` without a mask.
    pub mask: Option<PathBuf>,
}

impl Atlas {
    /// Lists the atlases of all sources, in order. If images in different folders have the same name, the folder's
    /// name is put before it.
    ///
    /// # Errors
    /// A table that cannot be read; an atlas without labels; two atlases with the same name.
    pub fn list(sources: &[AtlasSource]) -> Result<Vec<Atlas>, Error> {
        let mut count = BTreeMap::new();
        for source in sources {
            if let AtlasSource::Files { image, .. } = source {
                *count.entry(stem(image)).or_insert(0) += 1;
            }
        }
        let mut atlases = Vec::new();
        for source in sources {
            match source {
                AtlasSource::Files { image, labels } => {
                    let own = stem(image);
                    let folder = image.parent().and_then(Path::file_name);
                    let name = match folder {
                        Some(folder) if count[&own] > 1 => format!("{}_{own}", folder.to_string_lossy()),
                        _ => own,
                    };
                    atlases.push(Atlas { name, image: image.clone(), labels: labels.clone(), mask: None });
                }
                AtlasSource::Table(table) => atlases.extend(of_table(table)?),
            }
        }
        check_names(&atlases)?;
        Ok(atlases)
    }

    /// Paths of the atlas's files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.image, &self.labels].into_iter().chain(&self.mask).map(PathBuf::as_path)
    }
}

/// Reads the atlases of a table.
fn of_table(table: &Path) -> Result<Vec<Atlas>, Error> {
    let atlas = |subjects::Subject { name, mut images, mask, labels, .. }| {
        let image = images.swap_remove(0);
        match labels {
            Some(labels) => Ok(Atlas { name, image, labels, mask }),
            None => Err(AtlasesError::NoLabels { image }.into()),
        }
    };
    subjects::list(&[table.to_owned()], &[])?.subjects.into_iter().map(atlas).collect()
}

/// Checks that all atlases have different names, because output files are named after the atlases.
fn check_names(atlases: &[Atlas]) -> Result<(), AtlasesError> {
    let mut known: BTreeMap<&str, &Path> = BTreeMap::new();
    for Atlas { name, image, .. } in atlases {
        if let Some(other) = known.insert(name, image) {
            return Err(AtlasesError::Twice { name: name.clone(), images: [other.into(), image.clone()] });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> AtlasSource {
        text.parse().expect("an atlas")
    }

    #[test]
    fn an_atlas_is_two_files_or_a_table() {
        let (image, labels) = ("a/t1.nii.gz".into(), "a/seg.nii.gz".into());
        assert_eq!(source("a/t1.nii.gz=a/seg.nii.gz"), AtlasSource::Files { image, labels });
        assert_eq!(source("x/atlases.CSV"), AtlasSource::Table("x/atlases.CSV".into()));
        for text in ["", "a.nii", "a.nii=", "=b.nii", "a=b=c"] {
            assert!(text.parse::<AtlasSource>().is_err(), "{text}");
        }
    }

    #[test]
    fn atlases_have_the_names_of_their_images_or_folders() {
        let names = |texts: &[&str]| {
            let sources: Vec<AtlasSource> = texts.iter().map(|text| source(text)).collect();
            Atlas::list(&sources).map(|atlases| atlases.into_iter().map(|atlas| atlas.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["x/1000_t1.nii.gz=l", "1001.nii=l"]).expect("names"), ["1000_t1", "1001"]);
        assert_eq!(names(&["a/t1.nii=l", "b/t1.nii=l"]).expect("names"), ["a_t1", "b_t1"]);
        let message = names(&["a/t1.nii=l", "a/t1.nii=k"]).expect_err("twice").to_string();
        assert!(message.contains("a_t1") && message.contains("a/t1.nii"), "{message}");
    }

    #[test]
    fn a_table_names_its_atlases() {
        let folder = tempfile::tempdir().expect("a folder");
        let table = folder.path().join("atlases.csv");
        std::fs::write(&table, "subject,image,labels,mask\none,i.nii,l.nii,\ntwo,/j.nii,/k.nii,m.nii\n")
            .expect("written");
        let sources = [AtlasSource::Table(table.clone()), source("three.nii=l.nii")];
        let atlases = Atlas::list(&sources).expect("atlases");
        assert_eq!(atlases.iter().map(|atlas| atlas.name.as_str()).collect::<Vec<_>>(), ["one", "two", "three"]);
        assert_eq!(atlases[0].labels, folder.path().join("l.nii"));
        assert_eq!(atlases[1].mask, Some(folder.path().join("m.nii")));
        std::fs::write(&table, "subject,image\none,i.nii\n").expect("written");
        let message = Atlas::list(&sources).expect_err("no labels").to_string();
        assert!(message.contains("i.nii has no label map"), "{message}");
    }
}
