//! Finds an affine map from which other registrations start, by the search of this program's linear stage.
//! `antsAffineInitializer` and `antsAI` use this module.

use std::path::{Path, PathBuf};

use antsreg_console::CliError;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::io::{itk, outputs};
use antsreg_register::linear::{self, AngleSearch, Cost, Dof, Search, Start};
use antsreg_register::{Options, Side, Stage};
use antsreg_study::inputs;

use crate::call::Call;
use crate::engine::{self, Done, Task};

/// What a command line of `antsAffineInitializer` or `antsAI` requests: a search for an affine transform between two
/// images.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whether the images have two dimensions.
    pub slices: bool,
    /// Path of the fixed image.
    pub fixed: PathBuf,
    /// Path of the moving image.
    pub moving: PathBuf,
    /// Masks of the fixed and the moving image.
    pub masks: [Option<PathBuf>; 2],
    /// Output file of the affine transform from fixed to moving points.
    pub output: PathBuf,
    /// Degrees of freedom of the transform.
    pub dof: Dof,
    /// The cost function that the search minimises.
    pub cost: Cost,
    /// Largest rotation that is searched about each axis in both directions, from the orientation in the headers,
    /// degrees.
    pub range_degrees: f64,
    /// Whether the search also starts from aligned principal axes of the images.
    pub principal_axes: bool,
}

/// Searches for the requested transform and writes the result.
///
/// # Errors
/// An argument that is wrong or not supported; a registration that fails.
pub fn run(call: &Call, request: &Request, verbose: bool) -> Result<(), CliError> {
    let output = request.output.as_path();
    super::check_affine_name(output)?;
    outputs::check_in_place([output])?;
    let Done { task, found, device } = engine::register(call, &mut call.console(verbose)?, || task(request))?;
    let fixed = &task.sides[0].image;
    let centre = fixed.centre()?;
    match request.slices {
        true => itk::write_affine_of_slices(output, &found.affine, centre)?,
        false => itk::write_affine(output, &found.affine, centre)?,
    }
    call.tell(&device, &["ANTs' search is replaced by the search of this program's affine stage".into()]);
    Ok(())
}

fn task(request: &Request) -> Result<Task, CliError> {
    let mut notes = Vec::new();
    let mut side = |image: &Path, mask: Option<&Path>| {
        let volume = inputs::image_by(GridRule::Itk, image)?;
        notes.extend(inputs::labels_as_image(&volume, image));
        super::check_dimension(request.slices, [(image, &volume.grid)])?;
        let mask = mask.map(|path| super::mask::read(path, &volume.grid)).transpose()?;
        let side = Side::from(volume);
        Ok::<_, CliError>(match mask {
            Some(mask) => side.with_mask(mask),
            None => side,
        })
    };
    let sides =
        [side(&request.fixed, request.masks[0].as_deref())?, side(&request.moving, request.masks[1].as_deref())?];
    let range = request.range_degrees;
    let search = Search::Angles(AngleSearch {
        range_degrees: if request.slices { [0.0, 0.0, range] } else { [range; 3] },
        principal_axes: request.principal_axes,
        ..AngleSearch::default()
    });
    let stage = linear::Options { dof: request.dof, search, ..linear::Options::of(request.cost) };
    let options = Options {
        start: Start::CentreOfMass,
        stages: vec![Stage::Linear(stage)],
        inverse_warp: false,
        scores: false,
        pairs: Vec::new(),
        images: None,
    };
    Ok(Task { sides, options, notes })
}
