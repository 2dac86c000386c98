//! One label map, carried through transforms that exist.

use std::path::{Path, PathBuf};

use antsreg_core::ChainWarning;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{self, Outputs, write_file};
use antsreg_core::overlap::Overlap;
use antsreg_kernels::apply::{self, LabelInterpolation};

use crate::pair::Format;
use crate::transforms::{self, TransformFile};
use crate::{Error, inputs};

/// A label map, the transforms that it goes through, and the grid that it gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Carrying {
    /// The label map.
    pub labels: PathBuf,
    /// The transforms, as for resampling: a point of the grid goes through the first one first.
    pub transforms: Vec<TransformFile>,
    /// The image with the grid.
    pub onto: PathBuf,
    /// The true labels on that grid, to be compared with.
    pub truth: Option<PathBuf>,
    /// Labels that count in the score: a file of numbers, or numbers such as `1,2,5`; `None` for all but 0.
    pub label_list: Option<String>,
    /// How the labels are read between voxels.
    pub interpolation: LabelInterpolation,
    /// Start of all output names, folder included.
    pub prefix: String,
    /// Format of the label map.
    pub format: Format,
}

/// A label map that was carried.
#[derive(Debug)]
pub struct Carried {
    /// Doubts about the transforms.
    pub warnings: Vec<ChainWarning>,
    /// Overlap with the true labels, if they are known.
    pub overlap: Option<Overlap>,
    /// The files that were written.
    pub paths: Vec<PathBuf>,
}

/// Carries the labels onto the grid and writes `PREFIXLabels`, and `PREFIXoverlap.csv` where the truth is known.
///
/// # Errors
/// Files that cannot be read or written, or do not fit each other; outputs that are inputs.
pub fn carry(of: &Carrying) -> Result<Carried, Error> {
    let Carrying { labels, transforms: files, onto, truth, label_list, interpolation, prefix, format } = of;
    let name = PathBuf::from(format!("{prefix}Labels.{}", format.extension()));
    let csv = PathBuf::from(format!("{prefix}overlap.csv"));
    check_outputs(of, &name, &csv)?;
    let labels = inputs::labels(labels)?;
    let grid = inputs::any_image(onto)?.grid;
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
    Ok(Carried { warnings, overlap, paths: outputs.commit()? })
}

/// Refuses outputs that cannot be written, or that are inputs.
fn check_outputs(of: &Carrying, name: &Path, csv: &Path) -> Result<(), Error> {
    let list = of.label_list.as_deref().and_then(inputs::label_list_file);
    let images = [Some(of.onto.as_path()), Some(of.labels.as_path()), of.truth.as_deref(), list];
    let transforms = of.transforms.iter().map(|file| file.path.as_path());
    Ok(outputs::check([name, csv], images.into_iter().flatten().chain(transforms))?)
}
