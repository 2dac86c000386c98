//! The subcommand (verb) `compare`: measures how much two images on one grid differ, or how far landmarks lie apart.

use std::path::{Path, PathBuf};

use antsreg_console::{CliError, Console};
use antsreg_core::compare::Comparison;
use antsreg_core::io::points::PointTable;
use antsreg_core::landmarks::LandmarkErrors;
use antsreg_study::transforms::{TransformFile, read_chain};

use crate::table;
use antsreg_study::inputs;

/// Compare two images on one grid, or landmarks of two images.
///
/// Of images: prints the root mean square difference, the mean and the largest absolute difference, and Pearson's
/// correlation. Of landmarks: maps those of the fixed image by the transforms, as `apply --points` does, and prints how
/// far they lie from those of the moving image, each and on average (target registration error).
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = AFTER)]
pub struct Args {
    /// First image
    #[arg(value_name = "A", required_unless_present = "fixed_points", requires = "second")]
    first: Option<PathBuf>,
    /// Second image, on the grid of A
    #[arg(value_name = "B")]
    second: Option<PathBuf>,
    /// Mask on the grid of A: only voxels above 0.5 are compared
    #[arg(long, value_name = "IMAGE", requires = "first")]
    mask: Option<PathBuf>,
    /// Landmarks of the fixed image: CSV with columns x, y and z in LPS mm, as for antsApplyTransformsToPoints. With a
    /// column label, name, landmark or id in both tables, landmarks are compared by name
    #[arg(long, value_name = "CSV", requires = "moving_points", conflicts_with = "first")]
    fixed_points: Option<PathBuf>,
    /// Landmarks of the moving image
    #[arg(long, value_name = "CSV", requires = "fixed_points")]
    moving_points: Option<PathBuf>,
    /// Transform that maps the fixed landmarks, as for `apply`; may be repeated
    #[arg(short, long, value_name = "TRANSFORM", requires = "fixed_points")]
    transform: Vec<TransformFile>,
}

const AFTER: &str = "Example:
  antsreg-gpu compare --fixed-points f.csv --moving-points m.csv -t p_1Warp.nii.gz -t p_0GenericAffine.mat";

/// Runs `compare`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    match (&args.first, &args.second, &args.fixed_points, &args.moving_points) {
        (Some(first), Some(second), ..) => images(args, first, second),
        (_, _, Some(fixed), Some(moving)) => landmarks(args, fixed, moving, console),
        // The parser of the command line lets nothing else through.
        _ => Ok(()),
    }
}

fn images(args: &Args, first_path: &Path, second_path: &Path) -> Result<(), CliError> {
    let first = inputs::any_image(first_path)?;
    let mut second = inputs::any_image(second_path)?;
    inputs::check_grid(second_path, &second.grid, first_path, &first.grid, "linear")?;
    second.grid = first.grid.clone();
    let mask = args.mask.as_deref().map(|mask| inputs::mask(mask, first_path, &first.grid)).transpose()?;
    let found = Comparison::between(&first, &second, mask.as_ref())?;
    antsreg_console::output::print(&format!(
        "Voxels                    {}\n\
         Root mean square          {}\n\
         Mean absolute difference  {}\n\
         Largest difference        {}\n\
         Correlation               {:.6}\n",
        found.voxels, found.root_mean_square, found.mean_absolute, found.largest_absolute, found.correlation
    ))
}

fn landmarks(args: &Args, fixed: &Path, moving: &Path, console: &mut Console) -> Result<(), CliError> {
    let chain = read_chain(&args.transform)?;
    let (mut found, expected) = (PointTable::read(fixed)?, PointTable::read(moving)?);
    chain.outside_fields(found.points()).iter().for_each(|missed| console.warn(missed));
    found.move_points(|point| chain.apply(point));
    let errors = LandmarkErrors::between(&found, &expected)
        .map_err(|why| CliError::Landmarks { paths: [fixed.into(), moving.into()], why })?;
    let mut rows = vec![["Landmark".to_owned(), "mm".to_owned()].into()];
    let summary = [("Mean", errors.mean), ("Median", errors.median), ("Largest", errors.largest)];
    let each = errors.each.iter().map(|(name, distance)| (name.as_str(), *distance));
    rows.extend(each.chain(summary).map(|(name, distance)| vec![name.to_owned(), format!("{distance:.4}")]));
    antsreg_console::output::print(&table::render(&rows))
}
