//! Resamples labels after a registration and computes their overlap with the true labels.

use antsreg_core::TransformChain;
use antsreg_core::io::nifti;
use antsreg_core::io::outputs::{Outputs, write_file};
use antsreg_core::overlap::Overlap;
use antsreg_kernels::apply;

use super::files::{Names, PairFiles};
use super::inputs::Inputs;
use crate::Error;

/// Resamples the moving labels on the fixed grid and writes them. Computes the overlap if there are fixed labels.
pub(super) fn write(
    files: &PairFiles,
    names: &Names,
    inputs: &Inputs,
    forward: &TransformChain,
    outputs: &mut Outputs,
) -> Result<Option<Overlap>, Error> {
    let (Some(labels), Some(name)) = (&inputs.moving_labels, &names.labels) else { return Ok(None) };
    let fixed = &inputs.fixed;
    let carried = apply::resample_labels(labels, fixed.side.grid(), forward, files.labels.interpolation);
    outputs.write(name, |path| Ok::<_, Error>(nifti::write_labels(path, &carried)?))?;
    let (Some(target), Some(name)) = (&fixed.labels, &names.overlap) else { return Ok(None) };
    let overlap = Overlap::between(&carried, target, fixed.label_list.as_deref())?;
    outputs.write(name, |path| Ok::<_, Error>(write_file(path, overlap.to_csv().as_bytes())?))?;
    Ok(Some(overlap))
}
