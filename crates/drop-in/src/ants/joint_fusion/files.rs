//! The input files of the atlases, and the output files of joint label fusion.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use antsreg_cohort::fusion::{Atlas, FusedImages};
use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::{self, GridRule};
use antsreg_core::io::outputs::Outputs;
use antsreg_core::{LabelVolume, Volume};
use antsreg_study::transforms::is_image_output;

use crate::ants::refused_name;

/// Images and label maps of the atlases, on the grid of the target image.
pub struct Atlases {
    images: Vec<Volume>,
    labels: Vec<LabelVolume>,
}

impl Atlases {
    /// Reads the images and label maps of the atlases. Without label maps, all labels are 0.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn read(images: &[PathBuf], labels: &[PathBuf]) -> Result<Atlases, CliError> {
        let images = images.iter().map(|path| GridRule::Itk.read_volume(path)).collect::<Result<Vec<_>, _>>()?;
        let mut labels = labels.iter().map(|path| GridRule::Itk.read_labels(path)).collect::<Result<Vec<_>, _>>()?;
        if let ([], Some(first)) = (&labels[..], images.first()) {
            labels = vec![LabelVolume { grid: first.grid.clone(), voxels: vec![0; first.voxels.len()] }];
        }
        Ok(Atlases { images, labels })
    }

    /// The image and the label map of each atlas.
    pub fn all(&self) -> Vec<Atlas<'_>> {
        // If no label maps are given, `labels` has one empty label map, which is used for every atlas.
        self.images.iter().zip(self.labels.iter().cycle()).map(|(image, labels)| Atlas { image, labels }).collect()
    }

    /// The label maps of the atlases.
    pub fn maps(&self) -> Vec<&LabelVolume> {
        self.labels.iter().collect()
    }

    /// All labels of the atlases inside a region, except 0, in ascending order.
    pub fn labels_within(&self, region: Option<&[bool]>) -> Vec<i32> {
        let inside = |voxel: usize| region.is_none_or(|region| region.get(voxel).is_some_and(|inside| *inside));
        let voxels = self.labels.iter().flat_map(|map| map.voxels.iter().enumerate());
        let present: BTreeSet<i32> =
            voxels.filter(|(voxel, label)| **label != 0 && inside(*voxel)).map(|(_, label)| *label).collect();
        present.into_iter().collect()
    }
}

/// A file name with a placeholder for a number, such as `posterior%04d.nii.gz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    before: String,
    /// Least number of digits of the number in the file name; shorter numbers get leading zeros.
    digits: usize,
    after: String,
}

impl Numbered {
    /// Reads a file name with a placeholder such as `%02d`; `None` for a name without placeholder.
    ///
    /// # Errors
    /// More than one placeholder, or a placeholder whose form is neither `%d` nor such as `%04d`.
    pub fn parse(text: &str) -> Result<Option<Numbered>, Refusal> {
        let Some((before, rest)) = text.split_once('%') else { return Ok(None) };
        let refuse =
            || Refusal::new(text, "expected a file name with one placeholder for a number, such as %d or %04d");
        let (digits, after) = rest.split_once('d').ok_or_else(refuse)?;
        let digits = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| refuse())? };
        if after.contains('%') || digits > 20 {
            return Err(refuse());
        }
        Ok(Some(Numbered { before: before.into(), digits, after: after.into() }))
    }

    /// Returns the file name with the number in place of the placeholder.
    pub fn with(&self, number: i32) -> PathBuf {
        let Numbered { before, digits, after } = self;
        PathBuf::from(format!("{before}{number:0digits$}{after}"))
    }
}

/// The output files of joint label fusion; `None` for a file that was not requested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FusedFiles {
    /// File of the fused label map.
    pub labels: Option<PathBuf>,
    /// File of the fused image.
    pub intensities: Option<PathBuf>,
    /// Files of the posteriors: for each label except 0, the label's share of the atlases' votes at each voxel.
    pub posteriors: Option<Numbered>,
}

impl FusedFiles {
    /// Returns the paths of all output files of joint label fusion except the posterior maps, whose number is known
    /// only after the fusion.
    pub fn without_posteriors(&self) -> Vec<&Path> {
        self.labels.iter().chain(&self.intensities).map(PathBuf::as_path).collect()
    }

    /// The file names of the posterior maps of these labels, one file for each label.
    pub fn posteriors(&self, labels: &[i32]) -> Vec<PathBuf> {
        self.posteriors.iter().flat_map(|name| labels.iter().map(|label| name.with(*label))).collect()
    }

    /// Writes the requested results of joint label fusion. `labels` are the fused labels, `present` the labels that get
    /// a posterior map.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn write(
        &self,
        fused: &FusedImages,
        labels: &LabelVolume,
        present: &[i32],
        files: &mut Outputs,
    ) -> Result<(), CliError> {
        if let Some(path) = &self.labels {
            files.write::<CliError>(path, |path| Ok(nifti::write_labels(path, labels)?))?;
        }
        if let Some(path) = &self.intensities {
            files.write::<CliError>(path, |path| Ok(nifti::write_volume(path, &fused.intensities)?))?;
        }
        for (path, label) in self.posteriors(present).iter().zip(present) {
            let posterior = fused.labels.posterior(*label);
            files.write::<CliError>(path, |path| Ok(nifti::write_volume(path, &posterior)?))?;
        }
        Ok(())
    }
}

/// Checks the name of an image to write.
///
/// # Errors
/// A name of a format that is not written.
pub fn image_name(path: impl Into<PathBuf>) -> Result<PathBuf, Refusal> {
    let path = path.into();
    match is_image_output(&path) {
        true => Ok(path),
        false => Err(refused_name(path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_numbers_as_in_c() {
        let name = |text: &str, number| Numbered::parse(text).map(|name| name.map(|name| name.with(number)));
        assert_eq!(name("p%04d.nii.gz", 17), Ok(Some("p0017.nii.gz".into())));
        assert_eq!(name("a/p%d.nii.gz", 2001), Ok(Some("a/p2001.nii.gz".into())));
        assert_eq!(name("p%2d.nii.gz", 123), Ok(Some("p123.nii.gz".into())));
        assert_eq!(name("p.nii.gz", 1), Ok(None));
        for text in ["p%s.nii.gz", "p%d%d.nii.gz", "p%04.nii.gz", "p%", "p%-3d", "p%999d"] {
            assert!(name(text, 1).is_err(), "{text}");
        }
    }
}
