//! The table of commands that are served: one entry a command.

use antsreg_console::CliError;

use crate::call::Call;
use crate::suite::Suite;
use crate::{ants, c3d_affine_tool, fsl};

/// A command of another program.
pub struct Command {
    /// The name by which it is called.
    pub name: &'static str,
    /// The programs it belongs to.
    pub suite: Suite,
    /// Translates the arguments and runs.
    pub run: fn(&Call) -> Result<(), CliError>,
}

/// All commands that are served.
pub const COMMANDS: &[Command] = &[
    ants("antsAffineInitializer", ants::affine_initializer::run),
    ants("antsAI", ants::ai::run),
    ants("antsRegistration", ants::registration::run),
    ants("antsRegistrationSyN.sh", ants::syn_script::run),
    ants("antsRegistrationSyNQuick.sh", ants::syn_script::run_quick),
    ants("antsApplyTransforms", ants::apply_transforms::run),
    ants("antsApplyTransformsToPoints", ants::apply_transforms_to_points::run),
    ants("antsJointFusion", ants::joint_fusion::run),
    ants("CreateJacobianDeterminantImage", ants::jacobian_image::run),
    ants("LabelOverlapMeasures", ants::label_overlap::run),
    ants("PrintHeader", ants::print_header::run),
    ants("ImageMath", ants::image_math::run),
    ants("c3d_affine_tool", c3d_affine_tool::run),
    fsl("flirt", fsl::flirt::run),
    fsl("convert_xfm", fsl::convert_xfm::run),
];

const fn ants(name: &'static str, run: fn(&Call) -> Result<(), CliError>) -> Command {
    Command { name, suite: Suite::Ants, run }
}

const fn fsl(name: &'static str, run: fn(&Call) -> Result<(), CliError>) -> Command {
    Command { name, suite: Suite::Fsl, run }
}

/// The command of a name.
pub fn command(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// The names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}
