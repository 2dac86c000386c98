//! The table of the commands of ANTs and FSL that this program supports, with one entry for each command.

use antsreg_console::{CliError, Refusal};

use crate::call::Call;
use crate::suite::Suite;
use crate::{ants, c3d_affine_tool, fsl};

/// A command of ANTs or FSL that this program supports.
pub struct Command {
    /// Name of the command.
    pub name: &'static str,
    /// The family of programs (ANTs or FSL) to which the command belongs.
    pub suite: Suite,
    /// The function that runs the command. It converts the arguments of the ANTs or FSL command to options of this
    /// program.
    pub run: fn(&Call) -> Result<(), CliError>,
    /// The function that checks the arguments of the command without reading an image; `None` for commands with only a
    /// few arguments.
    pub read: Option<Reader>,
}

/// A function that checks whether the arguments of a command are valid, without running the command.
type Reader = fn(&[String]) -> Result<(), Refusal>;

/// All commands of ANTs and FSL that this program supports.
pub const COMMANDS: &[Command] = &[
    ants("antsAffineInitializer", ants::affine_initializer::run).reading(ants::affine_initializer::read),
    ants("antsAI", ants::ai::run).reading(ants::ai::read),
    ants("antsRegistration", ants::registration::run).reading(ants::registration::read),
    ants("antsRegistrationSyN.sh", ants::syn_script::run).reading(ants::syn_script::read),
    ants("antsRegistrationSyNQuick.sh", ants::syn_script::run_quick).reading(ants::syn_script::read_quick),
    ants("antsApplyTransforms", ants::apply_transforms::run).reading(ants::apply_transforms::read),
    ants("antsApplyTransformsToPoints", ants::apply_transforms_to_points::run)
        .reading(ants::apply_transforms_to_points::read),
    ants("antsJointFusion", ants::joint_fusion::run).reading(ants::joint_fusion::read),
    ants("antsJointLabelFusion.sh", ants::label_fusion_script::run).reading(ants::label_fusion_script::read),
    ants("N4BiasFieldCorrection", ants::bias_correction::run).reading(ants::bias_correction::read),
    ants("CreateJacobianDeterminantImage", ants::jacobian_image::run),
    ants("LabelOverlapMeasures", ants::label_overlap::run),
    ants("PrintHeader", ants::print_header::run),
    ants("ImageMath", ants::image_math::run),
    ants("c3d_affine_tool", c3d_affine_tool::run),
    fsl("flirt", fsl::flirt::run).reading(fsl::flirt::read),
    fsl("mcflirt", fsl::mcflirt::run).reading(fsl::mcflirt::read),
    fsl("convert_xfm", fsl::convert_xfm::run),
];

const fn ants(name: &'static str, run: fn(&Call) -> Result<(), CliError>) -> Command {
    Command { name, suite: Suite::Ants, run, read: None }
}

const fn fsl(name: &'static str, run: fn(&Call) -> Result<(), CliError>) -> Command {
    Command { name, suite: Suite::Fsl, run, read: None }
}

impl Command {
    const fn reading(self, read: Reader) -> Command {
        Command { read: Some(read), ..self }
    }
}

/// The command called `name`; `None` if this program supports no command of this name.
pub fn command(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// The names of all commands of ANTs and FSL that this program supports.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}
