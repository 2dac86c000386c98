//! Atlases as typed: an image and its labels each, or a table of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use antsreg_core::{LabelVolume, Volume};
use rayon::prelude::*;

use crate::error::{CliError, UsageError};
use crate::inputs;
use crate::progress::Console;
use crate::values::ValueError;
use antsreg_study::subjects;

/// `IMAGE=LABELS`, or a table of images and labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtlasSource {
    /// One atlas.
    Files {
        /// Its image.
        image: PathBuf,
        /// Its label map.
        labels: PathBuf,
    },
    /// A table, one atlas a row.
    Table(PathBuf),
}

impl FromStr for AtlasSource {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<AtlasSource, ValueError> {
        let expected = "IMAGE=LABELS, two files, or a table .csv";
        let malformed = || ValueError::Malformed { expected, found: text.into() };
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

/// An atlas's files, and what it is called in messages and in the names of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atlas {
    /// Its name: that of its row in a table, or that of its image without what says the format.
    pub name: String,
    /// Its image.
    pub image: PathBuf,
    /// Its label map.
    pub labels: PathBuf,
    /// Which of its voxels count.
    pub mask: Option<PathBuf>,
}

/// What was read of an atlas.
#[derive(Debug)]
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// The file of its image.
    pub path: PathBuf,
    /// Its image.
    pub image: Arc<Volume>,
    /// Its labels, on the image's grid.
    pub labels: LabelVolume,
    /// Which of its voxels count.
    pub mask: Option<Arc<Volume>>,
}

impl Atlas {
    /// The atlases of all sources, in order. Where images in different folders are called alike, the folder's name goes
    /// before; atlases that still have one name are refused.
    pub fn list(sources: &[AtlasSource]) -> Result<Vec<Atlas>, CliError> {
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
                AtlasSource::Table(table) => {
                    for row in subjects::list(std::slice::from_ref(table), &[])?.subjects {
                        let subjects::Subject { name, mut images, mask, labels } = row;
                        let image = images.swap_remove(0);
                        let Some(labels) = labels else { return Err(CliError::NoAtlasLabels { image }) };
                        atlases.push(Atlas { name, image, labels, mask });
                    }
                }
            }
        }
        let mut first: BTreeMap<&str, &Path> = BTreeMap::new();
        for atlas in &atlases {
            if let Some(other) = first.insert(&atlas.name, &atlas.image) {
                let images = [other, &atlas.image].map(|path| path.display().to_string());
                return Err(UsageError::AtlasTwice { name: atlas.name.clone(), images }.into());
            }
        }
        Ok(atlases)
    }

    /// Every file of it.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.image, &self.labels].into_iter().chain(&self.mask).map(PathBuf::as_path)
    }

    /// Reads image, labels and mask.
    fn read(&self) -> Result<Loaded, CliError> {
        let read = || {
            let image = inputs::image(&self.image)?;
            let labels = inputs::labels_of(&self.labels, &self.image, &image.grid)?;
            let mask = self.mask.as_deref().map(|mask| inputs::mask(mask, &self.image, &image.grid)).transpose()?;
            let (name, path) = (self.name.clone(), self.image.clone());
            Ok(Loaded { name, path, image: Arc::new(image), labels, mask: mask.map(Arc::new) })
        };
        read().map_err(|error| blame(&self.name, error))
    }
}

/// Reads every atlas. One that cannot be used is an error, or is told of and left out with `keep_going`.
pub fn read(atlases: &[Atlas], keep_going: bool, console: &mut Console) -> Result<Vec<Loaded>, CliError> {
    let read: Vec<Result<Loaded, CliError>> = atlases.par_iter().map(Atlas::read).collect();
    usable(read, atlases.len(), keep_going, console)
}

/// What came of `of` atlases, without those that failed if they may.
pub fn usable<T>(
    results: Vec<Result<T, CliError>>,
    of: usize,
    keep_going: bool,
    console: &mut Console,
) -> Result<Vec<T>, CliError> {
    let mut good = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(error) if keep_going => console.warn(format_args!("{error}; left out")),
            Err(error) => return Err(error),
        }
    }
    if good.is_empty() { Err(CliError::NoAtlasLeft { of }) } else { Ok(good) }
}

/// The error, said of the atlas of this name.
fn blame(name: &str, error: CliError) -> CliError {
    CliError::Atlas { name: name.into(), source: Box::new(error) }
}

impl Loaded {
    /// The error, said of this atlas.
    pub fn blame(&self, error: CliError) -> CliError {
        blame(&self.name, error)
    }
}

/// A file's name without the ends that say its format.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".nii").unwrap_or(name).to_owned()
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
    fn atlases_are_called_after_their_images_or_folders() {
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
