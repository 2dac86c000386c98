//! Does the work of the script `antsJointLabelFusion.sh`, without running a shell. Each atlas is registered to the
//! target image as by `antsRegistrationSyN.sh` or `antsRegistrationSyNQuick.sh`, its labels are resampled, and all
//! labels are fused as by `antsJointFusion`.

mod options;

use std::path::{Path, PathBuf};

use antsreg_cohort::fusion::{JointOptions, majority};
use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::{self, GridRule};
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_core::{LabelVolume, Volume};
use antsreg_register::Device;
use antsreg_study::{self as study, labels::fuse_everywhere};

use self::options::{Mask, Options};
use super::joint_fusion::Atlases;
use super::{apply_transforms, mask, syn_script};
use crate::call::Call;

const HELP: &str = "\
Served by antsreg-gpu: -d 2|3  -o PREFIX  -t TARGET  -g ATLAS -l LABELS …  -m 0|1 (majority vote)  -k 0|1 (keep files)
  -q 0|1 (quick registration)  -f 0|1 (single precision)  -p POSTERIORS%04d.nii.gz  -y t|r|a|s|sr|so|b|br|bo
  -x majorityvoting|or|none|MASK

Writes PREFIXLabels.nii.gz and PREFIXIntensity.nii.gz, or PREFIXMajorityVotingLabels.nii.gz. -c, -j, -r, -u, -v, -w and -z,
which concern clusters, have no effect: atlases are registered one after the other, on this machine. An atlas whose
PREFIXNAME_N_WarpedLabels.nii.gz exists is not registered again.
";

/// With `-x majorityvoting`, joint fusion leaves out voxels at which at least this share of the atlases has the same
/// label.
const CERTAIN: f32 = 0.8;
/// Endings of the names of the intermediate files of each atlas. The option `-k 1` keeps these files.
const OF_ATLAS: [&str; 6] = [
    "Warped.nii.gz",
    "InverseWarped.nii.gz",
    "WarpedLabels.nii.gz",
    "0GenericAffine.mat",
    "1Warp.nii.gz",
    "1InverseWarp.nii.gz",
];

/// Parses the arguments of `antsJointLabelFusion.sh` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    let options = Options::parse(words)?;
    let read = if options.quick { syn_script::read_quick } else { syn_script::read };
    (0..options.images.len()).try_for_each(|atlas| read(&options.registration(atlas)))
}

/// Runs `antsJointLabelFusion.sh`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written; a registration that fails.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.first().is_none_or(|word| word == "-h") {
        return print(HELP);
    }
    read(&call.arguments)?;
    let options = Options::parse(&call.arguments)?;
    if let Some(folder) = Path::new(&options.prefix).parent().filter(|folder| !folder.as_os_str().is_empty()) {
        outputs::make_folder(folder)?;
    }
    let given: Vec<&PathBuf> = options.images.iter().chain(&options.labels).chain([&options.target]).collect();
    outputs::check(options.files().without_posteriors(), &given)?;
    let count = options.images.len();
    (0..count).try_for_each(|atlas| register(call, &options, atlas))?;
    let named = |rest| (0..count).map(|atlas| PathBuf::from(options.atlas_prefix(atlas) + rest)).collect::<Vec<_>>();
    let atlases = Atlases::read(&named("Warped.nii.gz"), &named("WarpedLabels.nii.gz"))?;
    let mut files = Outputs::new();
    let mut device = Device::cpu();
    if options.by_majority {
        let fused = majority(&atlases.maps()).map_err(study::Error::from)?;
        write_labels(&options.file("MajorityVotingLabels.nii.gz"), &fused.labels, &mut files)?;
    } else {
        device = call.settings.device.open()?.device;
        fuse(&options, &atlases, &given, &device, &mut files)?;
    }
    files.commit()?;
    if !options.keep {
        // Deletes the intermediate files of each atlas. Errors are ignored: a file may not exist, and a file that
        // cannot be deleted does no harm.
        OF_ATLAS.iter().flat_map(|rest| named(rest)).for_each(|path| drop(std::fs::remove_file(path)));
    }
    call.tell(device.description(), &[]);
    Ok(())
}

/// Registers an atlas and resamples its labels on the grid of the target, unless an earlier call has written these
/// files.
fn register(call: &Call, options: &Options, atlas: usize) -> Result<(), CliError> {
    let done = options.atlas_prefix(atlas) + "WarpedLabels.nii.gz";
    if Path::new(&done).exists() {
        call.note(&format!("{done} already exists: this atlas is not registered again"));
        return Ok(());
    }
    let register = if options.quick { syn_script::run_quick } else { syn_script::run };
    let with = |arguments| Call { name: call.name, arguments, settings: call.settings };
    register(&with(options.registration(atlas)))?;
    apply_transforms::run(&with(options.carrying(atlas)))
}

/// Fuses labels and intensities inside the mask, and writes the fused files.
fn fuse(
    options: &Options,
    atlases: &Atlases,
    given: &[&PathBuf],
    device: &Device,
    files: &mut Outputs,
) -> Result<(), CliError> {
    let target = GridRule::Itk.read_volume(&options.target)?;
    let mut certain = None;
    let region = match &options.mask {
        Mask::None => None,
        Mask::File(path) => Some(mask::read(path, &target.grid)?.voxels.iter().map(|value| *value > 0.5).collect()),
        Mask::AnyLabel => {
            let is_labelled = |voxel: usize| atlases.maps().iter().any(|map| map.voxels[voxel] != 0);
            let region: Vec<bool> = (0..target.voxels.len()).map(is_labelled).collect();
            write_mask(&options.file("TargetMaskImageOr.nii.gz"), &target, &region, files)?;
            Some(region)
        }
        Mask::Uncertain => {
            let voted = majority(&atlases.maps()).map_err(study::Error::from)?;
            let (labels, open) = voted.certain(CERTAIN);
            write_labels(&options.file("TargetMaskImageMajorityVoting.nii.gz"), &labels, files)?;
            write_mask(&options.file("TargetMaskImageMajorityVoting_Mask.nii.gz"), &target, &open, files)?;
            certain = Some(labels);
            Some(open)
        }
    };
    let named = options.files();
    let present = atlases.labels_within(region.as_deref());
    outputs::check(named.posteriors(&present), given)?;
    let fused = fuse_everywhere(&target, &atlases.all(), &JointOptions::default(), region.as_deref(), device)?;
    let mut labels = fused.labels.labels.clone();
    if let Some(certain) = certain {
        labels.voxels.iter_mut().zip(certain.voxels).for_each(|(label, certain)| *label = certain.max(*label));
    }
    named.write(&fused, &labels, &present, files)
}

fn write_labels(path: &Path, labels: &LabelVolume, files: &mut Outputs) -> Result<(), CliError> {
    files.write::<CliError>(path, |path| Ok(nifti::write_labels(path, labels)?))
}

fn write_mask(path: &Path, target: &Volume, region: &[bool], files: &mut Outputs) -> Result<(), CliError> {
    let voxels = region.iter().map(|inside| i32::from(*inside)).collect();
    write_labels(path, &LabelVolume { grid: target.grid.clone(), voxels }, files)
}
