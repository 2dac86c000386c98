//! What a registration reads, checked before anything is computed.

use std::path::Path;
use std::sync::Arc;

use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, LabelVolume, Transform, TransformChain, Volume};
use antsreg_linear as linear;
use nalgebra::{Matrix3, Point3};

use super::args::Args;
use super::channels;
use super::found::Wanted;
use super::plan::Plan;
use super::request::Request;
use super::settings::{Model, Settings, Start};
use crate::error::CliError;
use crate::geometry;
use crate::inputs;
use crate::progress::Console;
use crate::transforms;

/// What belongs to the fixed image, and the start as typed: any number of registrations may share it.
#[derive(Debug)]
pub struct FixedInputs {
    /// The image.
    pub image: Arc<Volume>,
    /// Further images of its side.
    pub channels: Vec<Arc<Volume>>,
    /// Its centre of mass, world mm.
    centre_of_mass: Option<Point3<f64>>,
    /// 1 where its voxels count.
    pub mask: Option<Arc<Volume>>,
    /// Its labels.
    labels: Option<Arc<LabelVolume>>,
    /// Labels that count in the overlap.
    label_list: Option<Vec<i32>>,
    /// The start as typed or by default.
    pub start: Start,
    /// The affine of a file.
    given: Option<AffineTransform>,
}

/// Images, masks, labels and the start of a registration.
#[derive(Debug)]
pub struct Inputs {
    /// The fixed image.
    pub fixed: Arc<Volume>,
    /// Further images of its side, for the diffeomorphic stage.
    pub fixed_channels: Vec<Arc<Volume>>,
    /// The moving image.
    pub moving: Volume,
    /// Further images of its side, each the other half of a pair.
    pub moving_channels: Vec<Volume>,
    /// Centre of mass of the fixed image, world mm; of its grid where all voxels are equal.
    pub fixed_centre: Point3<f64>,
    /// 1 where fixed voxels count.
    pub fixed_mask: Option<Arc<Volume>>,
    /// 1 where moving voxels count.
    pub moving_mask: Option<Volume>,
    /// Labels of the fixed image.
    pub fixed_labels: Option<Arc<LabelVolume>>,
    /// Labels of the moving image.
    pub moving_labels: Option<LabelVolume>,
    /// Labels that count in the overlap.
    pub label_list: Option<Vec<i32>>,
    /// The start as typed or by default.
    pub start: Start,
    /// The affine it amounts to, fixed → moving, RAS mm.
    pub initial: AffineTransform,
}

impl FixedInputs {
    /// Reads and checks what does not depend on the moving image.
    pub fn read(args: &Args) -> Result<FixedInputs, CliError> {
        let image = inputs::image(&args.fixed)?;
        let mask = args.fixed_mask.as_deref().map(|path| inputs::mask(path, &args.fixed, &image.grid)).transpose()?;
        let labels = args.fixed_labels.as_deref().map(|path| inputs::labels_of(path, &args.fixed, &image.grid));
        let labels = labels.transpose()?;
        let label_list = match (&args.label_list, &args.fixed_labels, &labels) {
            (Some(list), Some(path), Some(labels)) => Some(inputs::label_list_of(list, path, labels)?),
            (list, ..) => list.as_deref().map(inputs::label_list).transpose()?,
        };
        let channels = channels::read_fixed(args, &image)?;
        let fixed = FixedInputs::new(Arc::new(image), mask.map(Arc::new), &args.settings)?;
        Ok(FixedInputs { channels, labels: labels.map(Arc::new), label_list, ..fixed })
    }

    /// An image without labels.
    pub fn new(image: Arc<Volume>, mask: Option<Arc<Volume>>, settings: &Settings) -> Result<FixedInputs, CliError> {
        let start = settings.initial_transform.clone().unwrap_or(match settings.model() {
            Model::SynOnly => Start::Headers,
            _ => Start::CentreOfMass,
        });
        let given = match &start {
            Start::File(file) => {
                let affine = transforms::read_affine(file)?;
                if !image.grid.is_slice() {
                    transforms::check_of_volumes(file)?;
                }
                Some(affine)
            }
            _ => None,
        };
        let centre_of_mass = image.centre_of_mass();
        Ok(FixedInputs {
            image,
            channels: Vec::new(),
            centre_of_mass,
            mask,
            labels: None,
            label_list: None,
            start,
            given,
        })
    }

    /// The start as the affine stage takes it.
    pub fn linear_start(&self) -> linear::Start {
        match (&self.start, self.given) {
            (Start::CentreOfMass, _) => linear::Start::CentreOfMass,
            (Start::File(_), Some(affine)) => linear::Start::Transform(affine),
            _ => linear::Start::Headers,
        }
    }
}

impl FixedInputs {
    /// The affine from which a registration starts, fixed → moving, RAS mm, and what looks odd about it. Refused, by the
    /// names of both files, where nothing of the images meets.
    pub fn initial(&self, moving: &Volume, files: [&Path; 2]) -> Result<(AffineTransform, Vec<String>), CliError> {
        inputs::check_alike(files, [&self.image.grid, &moving.grid])?;
        let initial = match (&self.start, self.given) {
            (Start::CentreOfMass, _) => centres_on_each_other(self, moving),
            (_, Some(affine)) => affine,
            _ => AffineTransform::identity(),
        };
        // Found out here, and not when the affine is written as ITK's for slices.
        if let Start::File(file) = &self.start
            && [&self.image.grid, &moving.grid].iter().all(|grid| grid.is_slice_across_z())
            && !itk::stays_in_plane(&initial)
        {
            return Err(CliError::OutOfPlane { path: file.path.clone() });
        }
        // Its inverse is needed for the way back: a singular one is refused here.
        TransformChain::new().push(self.start.to_string(), Transform::Affine(initial), true)?;
        let mut chain = TransformChain::new();
        chain.push(self.start.to_string(), Transform::Affine(initial), false)?;
        let [fixed, moving_file] = files.map(Path::to_owned);
        let warnings = chain.check(&self.image.grid, Some(&moving.grid)).map_err(|_| CliError::NoOverlap {
            fixed,
            moving: moving_file,
            grids: Box::new([&self.image.grid, &moving.grid].map(geometry::describe)),
            start: self.start.to_string(),
            advice: match self.start {
                Start::CentreOfMass => "are the voxel sizes of both in mm?",
                _ => "start from --initial-transform centre-of-mass, or give a transform.",
            },
        })?;
        Ok((initial, warnings.iter().map(|warning| format!("at the start, {warning}")).collect()))
    }
}

impl Inputs {
    /// Reads and checks all.
    pub fn read(args: &Args, console: &mut Console) -> Result<Inputs, CliError> {
        let (inputs, warnings) = Inputs::beside(&FixedInputs::read(args)?, args)?;
        if Path::new(&args.output).is_dir() && !args.output.ends_with('/') {
            let prefix = &args.output;
            console.warn(format_args!(
                "{prefix} is a folder, but not where the files go: their names begin so, {prefix}record.json and the \
                 others; for files in it give {prefix}/"
            ));
        }
        inputs::odd_header(&args.fixed).iter().for_each(|warning| console.warn(warning));
        warnings.iter().for_each(|warning| console.warn(warning));
        Ok(inputs)
    }

    /// Reads and checks what belongs to the moving image; gives warnings beside it.
    pub fn beside(fixed_side: &FixedInputs, args: &Args) -> Result<(Inputs, Vec<String>), CliError> {
        let FixedInputs { image: fixed, channels, mask, labels, label_list, start, .. } = fixed_side;
        let moving = inputs::image(&args.moving)?;
        let moving_mask = args.moving_mask.as_deref().map(|path| inputs::mask(path, &args.moving, &moving.grid));
        let moving_labels =
            args.moving_labels.as_deref().map(|path| inputs::labels_of(path, &args.moving, &moving.grid));
        let (initial, mut warnings) = fixed_side.initial(&moving, [&args.fixed, &args.moving])?;
        warnings.extend(inputs::odd_header(&args.moving));
        let inputs = Inputs {
            fixed: fixed.clone(),
            fixed_channels: channels.clone(),
            moving_channels: channels::read_moving(args, &moving)?,
            moving,
            fixed_centre: fixed_side.centre_of_mass.unwrap_or_else(|| fixed.grid.centre()),
            fixed_mask: mask.clone(),
            moving_mask: moving_mask.transpose()?,
            fixed_labels: labels.clone(),
            moving_labels: moving_labels.transpose()?,
            label_list: label_list.clone(),
            start: start.clone(),
            initial,
        };
        Ok((inputs, warnings))
    }

    /// The start as the affine stage takes it.
    pub fn linear_start(&self) -> linear::Start {
        match self.start {
            Start::CentreOfMass => linear::Start::CentreOfMass,
            Start::Headers => linear::Start::Headers,
            Start::File(_) => linear::Start::Transform(self.initial),
        }
    }

    /// What is asked of a device.
    pub fn request<'a>(&'a self, plan: &'a Plan, wanted: Wanted) -> Request<'a> {
        Request {
            fixed: &self.fixed,
            fixed_channels: &self.fixed_channels,
            fixed_mask: self.fixed_mask.as_ref(),
            moving: &self.moving,
            moving_channels: &self.moving_channels,
            moving_mask: self.moving_mask.as_ref(),
            initial: self.initial,
            start: self.linear_start(),
            linear: plan.linear.as_ref(),
            syn: plan.syn.as_ref(),
            wanted,
        }
    }

    /// The masks by reference.
    pub fn masks(&self) -> [Option<&Volume>; 2] {
        [self.fixed_mask.as_deref(), self.moving_mask.as_ref()]
    }
}

/// The translation that puts the centres of mass on each other. An image with contrast has one.
fn centres_on_each_other(fixed: &FixedInputs, moving: &Volume) -> AffineTransform {
    let translation = match (fixed.centre_of_mass, moving.centre_of_mass()) {
        (Some(fixed), Some(moving)) => moving - fixed,
        _ => moving.grid.centre() - fixed.image.grid.centre(),
    };
    AffineTransform { matrix: Matrix3::identity(), translation }
}
