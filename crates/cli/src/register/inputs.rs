//! What a registration reads, checked before anything is computed.

use antsreg_core::{AffineTransform, LabelVolume, Transform, TransformChain, Volume};
use nalgebra::Matrix3;

use super::args::Args;
use super::settings::{Model, Start};
use crate::error::CliError;
use crate::inputs;
use crate::progress::Console;
use crate::transforms;

/// Images, masks, labels and the start of a registration.
#[derive(Debug)]
pub struct Inputs {
    /// The fixed image.
    pub fixed: Volume,
    /// The moving image.
    pub moving: Volume,
    /// 1 where fixed and moving voxels count.
    pub masks: [Option<Volume>; 2],
    /// Labels of the fixed image.
    pub fixed_labels: Option<LabelVolume>,
    /// Labels of the moving image.
    pub moving_labels: Option<LabelVolume>,
    /// Labels that count in the overlap.
    pub label_list: Option<Vec<i32>>,
    /// The start as typed or by default.
    pub start: Start,
    /// The affine it amounts to, fixed → moving, RAS mm.
    pub initial: AffineTransform,
}

impl Inputs {
    /// Reads and checks all.
    pub fn read(args: &Args, console: &mut Console) -> Result<Inputs, CliError> {
        let fixed = inputs::image(&args.fixed)?;
        let moving = inputs::image(&args.moving)?;
        let mask = |path: &Option<_>, image: &_, volume: &Volume| -> Result<Option<Volume>, CliError> {
            path.as_deref().map(|path| inputs::mask(path, image, &volume.grid)).transpose()
        };
        let masks = [mask(&args.fixed_mask, &args.fixed, &fixed)?, mask(&args.moving_mask, &args.moving, &moving)?];
        let labels = |path: &Option<_>, image: &_, volume: &Volume| -> Result<Option<LabelVolume>, CliError> {
            path.as_deref().map(|path| inputs::labels_of(path, image, &volume.grid)).transpose()
        };
        let fixed_labels = labels(&args.fixed_labels, &args.fixed, &fixed)?;
        let moving_labels = labels(&args.moving_labels, &args.moving, &moving)?;
        let label_list = args.label_list.as_deref().map(inputs::label_list).transpose()?;
        let start = args.settings.initial_transform.clone().unwrap_or(match args.settings.transform {
            Model::SynOnly => Start::Headers,
            _ => Start::CentreOfMass,
        });
        let initial = match &start {
            Start::Headers => AffineTransform::identity(),
            Start::CentreOfMass => centres_on_each_other(&fixed, &moving),
            Start::File(file) => transforms::read_affine(file)?,
        };
        // Its inverse is needed for the way back: a singular one is refused here.
        TransformChain::new().push(start.to_string(), Transform::Affine(initial), true)?;
        let mut chain = TransformChain::new();
        chain.push(start.to_string(), Transform::Affine(initial), false)?;
        match chain.check(&fixed.grid, Some(&moving.grid)) {
            Ok(warnings) => warnings.iter().for_each(|warning| console.warn(format_args!("at the start, {warning}"))),
            Err(_) => {
                let (fixed, moving) = (args.fixed.clone(), args.moving.clone());
                return Err(CliError::NoOverlap { fixed, moving, start: start.to_string() });
            }
        }
        Ok(Inputs { fixed, moving, masks, fixed_labels, moving_labels, label_list, start, initial })
    }

    /// The masks by reference.
    pub fn masks(&self) -> [Option<&Volume>; 2] {
        self.masks.each_ref().map(Option::as_ref)
    }
}

/// The translation that puts the centres of mass on each other. An image with contrast has one.
fn centres_on_each_other(fixed: &Volume, moving: &Volume) -> AffineTransform {
    let translation = match (fixed.centre_of_mass(), moving.centre_of_mass()) {
        (Some(fixed), Some(moving)) => moving - fixed,
        _ => moving.grid.centre() - fixed.grid.centre(),
    };
    AffineTransform { matrix: Matrix3::identity(), translation }
}
