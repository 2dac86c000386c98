//! The table of the commands of ANTs and FSL that this program serves, with one row for each command. The dispatch, the
//! verb `links`, the refusals and a table in `docs/drop-in.md` read it.

use std::fmt;

use antsreg_console::{CliError, Refusal};

use crate::call::Call;
use crate::suite::Suite;
use crate::{ants, c3d_affine_tool, fsl};

/// A command of ANTs or FSL that this program serves: a row of the table.
pub struct Command {
    /// Name of the command.
    pub name: &'static str,
    /// The family of programs (ANTs or FSL) to which the command belongs.
    pub suite: Suite,
    /// What of the command this program serves.
    pub extent: Extent,
    /// The function that runs the command. It converts the arguments of the ANTs or FSL command to options of this
    /// program.
    pub run: Run,
    /// The function that checks the arguments of the command without reading an image; `None` for commands with only a
    /// few arguments.
    pub read: Option<Reader>,
}

/// A function that runs a command.
pub type Run = fn(&Call) -> Result<(), CliError>;

/// A function that checks whether the arguments of a command are valid, without running the command.
type Reader = fn(&[String]) -> Result<(), Refusal>;

/// What of a command this program serves.
#[derive(Clone, Copy)]
pub enum Extent {
    /// The command except these options, values and inputs, in the notation of its command line. An empty list means
    /// the whole command.
    AllBut(&'static [&'static str]),
    /// These operations of a command that has many, such as `ImageMath`. A call of another operation runs the next
    /// program with the command's name on `PATH`, if there is one.
    Only(&'static [Operation]),
}

/// An operation of a command that has many.
pub struct Operation {
    /// Name of the operation on the command line.
    pub name: &'static str,
    /// The arguments of the operation, in the notation of usage texts.
    pub usage: &'static str,
}

/// All commands of ANTs and FSL that this program serves.
pub const COMMANDS: &[Command] = &[
    ants("antsAffineInitializer", ants::affine_initializer::run).reading(ants::affine_initializer::read),
    ants("antsAI", ants::ai::run).reading(ants::ai::read),
    ants("antsRegistration", ants::registration::run).reading(ants::registration::read).but(&[
        "other deformable transforms than SyN and BSplineSyN",
        "BSplineSyN of other spline orders than 3",
        "a linear stage after SyN",
        "-j, -k",
        "--minc",
        "metrics of point sets",
        "-g with a weight for each parameter of a linear stage",
        "-z 0 with several SyN stages",
        "stages of images on different grids",
        "label interpolations",
    ]),
    ants("antsRegistrationSyN.sh", ants::syn_script::run).reading(ants::syn_script::read),
    ants("antsRegistrationSyNQuick.sh", ants::syn_script::run_quick).reading(ants::syn_script::read_quick),
    ants("antsApplyTransforms", ants::apply_transforms::run)
        .reading(ants::apply_transforms::read)
        .but(&["-d 4", "-n GenericLabel of other interpolations than Linear and NearestNeighbor"]),
    ants("antsApplyTransformsToPoints", ants::apply_transforms_to_points::run)
        .reading(ants::apply_transforms_to_points::read)
        .but(&["tables that are not .csv", "-f 1"]),
    ants("antsApplyTransformsToTRX", ants::apply_transforms_to_geometry::run_trx)
        .reading(ants::apply_transforms_to_geometry::read_trx),
    ants("antsApplyTransformsToGifti", ants::apply_transforms_to_geometry::run_gifti)
        .reading(ants::apply_transforms_to_geometry::read_gifti)
        .but(&["-r", "--input-is-scanner-ras"]),
    ants("antsJointFusion", ants::joint_fusion::run).reading(ants::joint_fusion::read).but(&[
        "several modalities",
        "votes of atlases",
        "-e",
        "radii that differ by axis",
    ]),
    ants("antsJointLabelFusion.sh", ants::label_fusion_script::run)
        .reading(ants::label_fusion_script::read)
        .but(&["-x otsu"]),
    ants("N4BiasFieldCorrection", ants::bias_correction::run)
        .reading(ants::bias_correction::read)
        .but(&["-d 4", "splines of other orders than 3"]),
    ants("CreateJacobianDeterminantImage", ants::jacobian_image::run),
    ants("LabelOverlapMeasures", ants::label_overlap::run),
    ants("PrintHeader", ants::print_header::run),
    ants("ImageMath", ants::image_math::run).only(ants::image_math::OPERATIONS),
    ants("Atropos", ants::atropos::run).reading(ants::atropos::read).but(&[
        "-i Random, PriorLabelImage, priors in one file",
        "-k other likelihoods than Gaussian",
        "-p Aristotle",
        "-m with an image",
        "-a with a smoothing weight",
        "-s",
        "-w",
    ]),
    ants("DenoiseImage", ants::denoise_image::run).reading(ants::denoise_image::read).but(&["-d 4"]),
    ants("ThresholdImage", ants::threshold_image::run),
    ants("MultiplyImages", ants::multiply_images::run),
    ants("AverageImages", ants::average_images::run),
    ants("SmoothImage", ants::smooth_image::run).but(&["dimension 4"]),
    ants("ResampleImage", ants::resample_image::run).but(&["dimension 4", "types 3 and 5"]),
    ants("ResampleImageBySpacing", ants::resample_image::run_by_spacing).but(&["dimension 4"]),
    ants("CopyImageHeaderInformation", ants::headers::copy),
    ants("SetDirectionByMatrix", ants::headers::set_direction),
    ants("ExtractRegionFromImageByMask", ants::headers::extract_region).but(&["dimension 4"]),
    ants("MeasureMinMaxMean", ants::measure::run),
    ants("AverageAffineTransform", ants::average_affine::run),
    ants("AverageAffineTransformNoRigid", ants::average_affine::run_no_rigid),
    ants("ComposeMultiTransform", ants::compose_multi_transform::run),
    ants("ConvertTransformFile", ants::convert_transform_file::run).but(&["displacement fields"]),
    ants("LabelGeometryMeasures", ants::label_geometry::run),
    ants("antsMotionCorr", ants::motion_correction::run).reading(ants::motion_correction::read).but(&[
        "-d 2",
        "-t SyN, GaussianDisplacementField",
        "-w",
        "the metrics in MOCOparams.csv",
    ]),
    ants("c3d_affine_tool", c3d_affine_tool::run).but(&[
        "other options than -ref, -src, -itk, -fsl2ras, -ras2fsl, -inv, -mult, -info, -o, -oitk",
        "-oitk to other names than .txt and .tfm",
    ]),
    fsl("flirt", fsl::flirt::run).reading(fsl::flirt::read).but(&[
        "-schedule but bbr.sch, sch2D_3dof.sch, sch3D_3dof.sch, xyztrans.sch, simple3D.sch",
        "-fieldmap, -fieldmapmask, -pedir, -echospacing",
        "-wmcoords, -wmnorms",
        "-cost labeldiff",
    ]),
    fsl("mcflirt", fsl::mcflirt::run).reading(fsl::mcflirt::read).but(&[
        "-cost mutualinfo, woods",
        "-init",
        "-gdt",
        "-edge",
        "-2d",
    ]),
    fsl("convert_xfm", fsl::convert_xfm::run),
    fsl("applywarp", fsl::warps::apply).but(&[
        "coefficients of fnirt",
        "--mask",
        "--super, --superlevel",
        "--paddingsize",
        "--usesqform with matrices or a warp",
    ]),
    fsl("convertwarp", fsl::warps::convert).but(&[
        "coefficients of fnirt",
        "--shiftmap, --shiftdir",
        "--constrainj, --jstats, --jmin, --jmax",
    ]),
    fsl("invwarp", fsl::warps::invert).but(&["coefficients of fnirt", "constraints of Jacobians"]),
];

const fn ants(name: &'static str, run: Run) -> Command {
    Command { name, suite: Suite::Ants, extent: Extent::AllBut(&[]), run, read: None }
}

const fn fsl(name: &'static str, run: Run) -> Command {
    Command { name, suite: Suite::Fsl, extent: Extent::AllBut(&[]), run, read: None }
}

impl Command {
    const fn reading(self, read: Reader) -> Command {
        Command { read: Some(read), ..self }
    }

    const fn but(self, refused: &'static [&'static str]) -> Command {
        Command { extent: Extent::AllBut(refused), ..self }
    }

    const fn only(self, operations: &'static [Operation]) -> Command {
        Command { extent: Extent::Only(operations), ..self }
    }
}

impl Extent {
    /// Whether a refused call runs the next program with the command's name on `PATH` without being asked to. This
    /// holds for commands of which only some operations are served, because the link hides the other operations.
    pub fn falls_back(self) -> bool {
        matches!(self, Extent::Only(_))
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::AllBut([]) => write!(f, "all"),
            Extent::AllBut(refused) => write!(f, "all but: {}", refused.join("; ")),
            Extent::Only(operations) => {
                let names: Vec<&str> = operations.iter().map(|operation| operation.name).collect();
                write!(f, "only: {}", names.join(", "))
            }
        }
    }
}

/// Returns the operation called `name` of the operations that this program serves.
///
/// # Errors
/// No operation of this name is served.
pub fn operation(operations: &'static [Operation], name: &str) -> Result<&'static Operation, Refusal> {
    operations
        .iter()
        .find(|operation| operation.name == name)
        .ok_or_else(|| Refusal::not_served(name, format!("antsreg-gpu serves {}", Extent::Only(operations))))
}

/// The command called `name`; `None` if this program supports no command of this name. The Spinal Cord Toolbox calls its
/// copies of ANTs' commands `isct_NAME`.
pub fn command(name: &str) -> Option<&'static Command> {
    let plain = name.strip_prefix("isct_").unwrap_or(name);
    COMMANDS.iter().find(|command| command.name == plain && (plain == name || command.suite == Suite::Ants))
}

/// The names of all commands of ANTs and FSL that this program supports.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the documents: what of each command is served.
    fn table() -> String {
        let row = |command: &Command| format!("| `{}` | {} |\n", command.name, command.extent);
        format!("| command | served |\n|---|---|\n{}", COMMANDS.iter().map(row).collect::<String>())
    }

    #[test]
    fn the_documents_show_the_table() {
        const BEGIN: &str =
            "<!-- served: begin; INSTA_UPDATE=always cargo test -p antsreg-drop-in served writes this -->\n";
        const END: &str = "<!-- served: end -->\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drop-in.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let (before, rest) = page.split_once(BEGIN).expect("the beginning of the table");
        let (shown, after) = rest.split_once(END).expect("the end of the table");
        if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
            std::fs::write(path, format!("{before}{BEGIN}{}{END}{after}", table())).expect("the page is written");
        } else {
            assert_eq!(shown, table(), "INSTA_UPDATE=always cargo test -p antsreg-drop-in served");
        }
    }

    #[test]
    fn names_are_unique() {
        for (place, command) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS[..place].iter().all(|other| other.name != command.name), "{}", command.name);
        }
    }

    #[test]
    fn commands_of_the_spinal_cord_toolbox_are_those_of_ants() {
        let found = |name| command(name).map(|command| command.name);
        assert_eq!(found("isct_antsRegistration"), Some("antsRegistration"));
        assert_eq!((found("isct_flirt"), found("isct_")), (None, None));
    }

    #[test]
    fn another_operation_is_refused_with_those_served() {
        let refusal = operation(ants::image_math::OPERATIONS, "nosuch").map(|found| found.name).expect_err("none");
        assert!(refusal.to_string().contains("TruncateImageIntensity"), "{refusal}");
    }
}
