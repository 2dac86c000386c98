//! Resamples one label map through existing transforms.

use std::path::{Path, PathBuf};

use antsreg_core::ChainWarning;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{self, Outputs, write_file};
use antsreg_core::overlap::Overlap;
use antsreg_kernels::apply;

use super::options::Carrying;
use super::page::of_carried;
use crate::transforms;
use crate::{Error, inputs};

/// The result of resampling a label map.
#[derive(Debug)]
pub struct Carried {
    /// Warnings about the chain of transforms.
    pub warnings: Vec<ChainWarning>,
    /// Overlap (Jaccard, Dice) of the resampled labels with the true labels; `None` if the true labels are not known.
    pub overlap: Option<Overlap>,
    /// Paths of the resampled labels and of the other files that were written.
    pub paths: Vec<PathBuf>,
}

/// Resamples the labels and writes `PREFIXLabels`. With true labels also writes `PREFIXoverlap.csv`, and the page if
/// its path is given.
///
/// # Errors
/// Files that cannot be read or written, or do not fit each other; outputs that are inputs.
pub fn carry(of: &Carrying) -> Result<Carried, Error> {
    let Carrying { labels, transforms: files, onto, truth, label_list, interpolation, prefix, format, page, .. } = of;
    let name = PathBuf::from(format!("{prefix}Labels.{}", format.extension()));
    let csv = PathBuf::from(format!("{prefix}overlap.csv"));
    check_outputs(of, &name, &csv)?;
    let labels = inputs::labels(labels)?;
    let reference = inputs::any_image(onto)?;
    let grid = reference.grid.clone();
    let target = truth.as_deref().map(|truth| inputs::labels_of(truth, onto, &grid)).transpose()?;
    let list = match (label_list, truth, &target) {
        (Some(list), Some(path), Some(target)) => Some(inputs::label_list_of(list, path, target)?),
        (list, ..) => list.as_deref().map(inputs::label_list).transpose()?,
    };
    let chain = transforms::read_chain(files)?;
    transforms::check_dimensions(files, &chain, (onto, &grid), &labels.grid)?;
    let warnings = chain.check(&grid, Some(&labels.grid))?;
    let carried = apply::resample_labels(&labels, &grid, &chain, *interpolation);
    let mut outputs = Outputs::new();
    outputs.write(&name, |path| Ok::<_, Error>(nifti::write_labels(path, &carried)?))?;
    let overlap = target.map(|target| Overlap::between(&carried, &target, list.as_deref())).transpose()?;
    if let Some(overlap) = &overlap {
        outputs.write(&csv, |path| Ok::<_, Error>(write_file(path, overlap.to_csv().as_bytes())?))?;
    }
    if let Some(page) = page {
        let told = warnings.iter().map(ToString::to_string).collect();
        let html = of_carried(of, &reference, &carried, overlap.as_ref(), told, &[&name])?;
        outputs.write(page, |path| Ok::<_, Error>(write_file(path, html.as_bytes())?))?;
    }
    Ok(Carried { warnings, overlap, paths: outputs.commit()? })
}

/// Checks that all output files can be written, and that no output file is also an input file.
fn check_outputs(of: &Carrying, name: &Path, csv: &Path) -> Result<(), Error> {
    let list = of.label_list.as_deref().and_then(inputs::label_list_file);
    let images = [Some(of.onto.as_path()), Some(of.labels.as_path()), of.truth.as_deref(), list];
    let transforms = of.transforms.iter().map(|file| file.path.as_path());
    Ok(outputs::check(
        [name, csv].into_iter().chain(of.page.as_deref()),
        images.into_iter().flatten().chain(transforms),
    )?)
}
