//! The files a registration writes: ANTs' names.

use std::path::{Path, PathBuf};

use super::args::Args;
use super::settings::{Model, Start};
use crate::error::{CliError, UsageError};
use antsreg_core::io::outputs;

/// Names of the outputs; `None` for those that were not asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// Affine, fixed → moving.
    pub affine: PathBuf,
    /// Displacement before the affine.
    pub warp: Option<PathBuf>,
    /// Its inverse.
    pub inverse_warp: Option<PathBuf>,
    /// The moving image on the fixed grid.
    pub warped: Option<PathBuf>,
    /// The fixed image on the moving grid.
    pub inverse_warped: Option<PathBuf>,
    /// The moving labels on the fixed grid.
    pub labels: Option<PathBuf>,
    /// Overlap per label.
    pub overlap: Option<PathBuf>,
    /// What was done.
    pub record: PathBuf,
}

impl Files {
    /// The names that the options ask for.
    pub fn new(args: &Args) -> Files {
        let name = |rest: &str| PathBuf::from(format!("{}{rest}", args.output));
        let volume =
            |rest: &str, wanted: bool| wanted.then(|| name(&format!("{rest}.{}", args.writing.format.extension())));
        let syn = matches!(args.settings.model(), Model::Syn | Model::SynOnly);
        Files {
            affine: name("0GenericAffine.mat"),
            warp: volume("1Warp", syn),
            inverse_warp: volume("1InverseWarp", syn && !args.writing.no_inverse),
            warped: volume("Warped", !args.writing.no_warped),
            inverse_warped: volume("InverseWarped", !args.writing.no_warped && !args.writing.no_inverse),
            labels: volume("Labels", args.moving_labels.is_some()),
            overlap: args.fixed_labels.is_some().then(|| name("overlap.csv")),
            record: name("record.json"),
        }
    }

    /// Every name, in the order in which they are written.
    pub fn all(&self) -> Vec<&Path> {
        let optional =
            [&self.warp, &self.inverse_warp, &self.warped, &self.inverse_warped, &self.labels, &self.overlap];
        let mut names = vec![self.affine.as_path()];
        names.extend(optional.into_iter().flatten().map(PathBuf::as_path));
        names.push(&self.record);
        names
    }

    /// Outputs of an earlier run with other options under the same prefix: nothing replaces them, and nothing says that they
    /// do not belong to what was written now.
    pub fn left_over(&self, args: &Args) -> Vec<PathBuf> {
        let volumes = ["1Warp", "1InverseWarp", "Warped", "InverseWarped", "Labels"];
        let names = volumes.iter().flat_map(|name| [format!("{name}.nii.gz"), format!("{name}.nii")]);
        let paths = names.chain(["overlap.csv".into()]).map(|name| PathBuf::from(format!("{}{name}", args.output)));
        let written = self.all();
        paths.filter(|path| !written.contains(&path.as_path()) && path.exists()).collect()
    }

    /// Whether all can be written, and none of them is an input.
    pub fn check(&self, args: &Args) -> Result<(), CliError> {
        if matches!(args.output.rsplit('/').next(), Some("." | "..")) {
            return Err(UsageError::HiddenPrefix(args.output.clone()).into());
        }
        let optional = [&args.fixed_mask, &args.moving_mask, &args.fixed_labels, &args.moving_labels];
        let inputs: Vec<&Path> = [&args.fixed, &args.moving]
            .into_iter()
            .chain(optional.into_iter().flatten())
            .chain(match &args.settings.initial_transform {
                Some(Start::File(file)) => Some(&file.path),
                _ => None,
            })
            .chain(args.channels.iter().flat_map(|files| [&files.fixed, &files.moving]))
            .map(PathBuf::as_path)
            .collect();
        for (n, target) in self.all().into_iter().enumerate() {
            // They share one folder: trying it once is enough.
            match n {
                0 => outputs::check_writable(target)?,
                _ => outputs::check_name(target)?,
            }
            outputs::check_not_input(target, &inputs)?;
        }
        Ok(())
    }
}
