//! The command `antsJointFusion`: fuses labels and intensities of several atlases that lie on the target's grid.

mod files;
mod request;

use antsreg_console::{CliError, Refusal, ending};
use antsreg_core::Volume;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::same_grid::same_grid;
use antsreg_study::labels::fuse_everywhere;

use self::request::Request;
use super::words;
use crate::call::Call;

pub(super) use self::files::{Atlases, FusedFiles, Numbered};

const USAGE: &str = "\
antsJointFusion -d 3 -t TARGET -g ATLAS … [-l LABELS …] -o LABELS | [LABELS,INTENSITIES,POSTERIORS%04d.nii.gz] [-p RADIUS]
                [-s RADIUS] [-a ALPHA] [-b BETA] [-x MASK]

Served by antsreg-gpu: one image for the target and for each atlas. Atlases must lie on the target's grid. Without -l, -o names the
file of the fused intensities.
";

/// Parses the arguments of `antsJointFusion` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    Request::read(&words::parse(words, request::FLAGS)?).map(drop)
}

/// Runs `antsJointFusion`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written; atlases on another grid.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(given) = words::read(&call.arguments, request::FLAGS, USAGE)? else { return Ok(()) };
    let Request { target, images, labels, mask, options, output, replaced } = Request::read(&given)?;
    outputs::check_in_place(output.without_posteriors())?;
    let (read_files, opened) = call.settings.device.open_during(|| {
        let atlases = Atlases::read(&images, &labels)?;
        let target = GridRule::Itk.read_volume(&target)?;
        let mask = mask.as_deref().map(|path| GridRule::Itk.read_volume(path)).transpose()?;
        let region = mask.map(|mask| region(&target, &mask)).transpose()?;
        Ok::<_, CliError>((atlases, target, region))
    });
    let (atlases, target, region) = read_files?;
    let device = opened?.device;
    ending::keep_open(&device);
    let present = atlases.labels_within(region.as_deref());
    outputs::check_in_place(output.posteriors(&present))?;
    let fused = fuse_everywhere(&target, &atlases.all(), &options, region.as_deref(), &device)?;
    let mut files = Outputs::new();
    output.write(&fused, &fused.labels.labels, &present, &mut files)?;
    files.commit()?;
    call.tell(device.description(), &replaced);
    Ok(())
}

/// Returns for each voxel of the target image whether it is inside the mask (mask value not 0). The mask must lie on
/// the grid of the target image.
fn region(target: &Volume, mask: &Volume) -> Result<Vec<bool>, CliError> {
    same_grid("the target and the mask", &target.grid, &mask.grid)?;
    // ANTs truncates the values of a mask to integers.
    Ok(mask.voxels.iter().map(|value| value.trunc() != 0.0).collect())
}
