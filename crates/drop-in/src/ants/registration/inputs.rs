//! Reads the images, masks and initial transforms of a registration from their files.

use std::path::PathBuf;
use std::sync::Arc;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::nifti::GridRule;
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_register::linear::Start;
use antsreg_register::{Error, Mask, Options, Side};
use antsreg_study::inputs;
use antsreg_study::transforms::read_chain;
use rayon::prelude::*;

use super::super::mask;
use super::plan::Plan;
use super::request::{Landmark, Request, StartRequest};
use crate::engine::Task;

/// The initial transforms, which precede the stages, in the order of the command line. A point passes through the first
/// transform first.
pub struct Starts {
    /// The initial transforms, each with a value that is true if the transform was derived from two images, and false
    /// if it was read from a file.
    pub steps: Vec<(Transform, bool)>,
}

impl Starts {
    /// Reads the initial transforms.
    ///
    /// # Errors
    /// A file that cannot be read or inverted.
    pub fn read(starts: &[StartRequest]) -> Result<Starts, CliError> {
        let mut steps = Vec::new();
        for start in starts {
            match start {
                StartRequest::File(file) => {
                    let chain = read_chain(std::slice::from_ref(file))?;
                    steps.extend(chain.steps.into_iter().map(|step| (step.transform, false)));
                }
                StartRequest::Between(images, landmark) => {
                    steps.push((Transform::Affine(between(images, *landmark)?), true));
                }
            }
        }
        Ok(Starts { steps })
    }

    /// The initial affine of the first stage: the composition of all initial transforms before the first displacement
    /// field.
    pub fn affine(&self) -> AffineTransform {
        self.steps
            .iter()
            .map_while(|(step, _)| as_affine(step))
            .fold(AffineTransform::identity(), |whole, step| step.after(&whole))
    }

    /// All initial transforms, in order, as one chain of transforms; `None` if there are no initial transforms.
    pub fn whole(&self) -> Option<TransformChain> {
        let steps: Vec<Transform> = self.steps.iter().map(|(step, _)| step.clone()).collect();
        (!steps.is_empty()).then(|| TransformChain::from(steps))
    }

    /// The initial transforms from the first displacement field on, with the grid of this field; `None` if all initial
    /// transforms are affine.
    pub fn rest(&self) -> Option<(&Grid, TransformChain)> {
        let place = self.steps.iter().position(|(step, _)| as_affine(step).is_none())?;
        let Transform::Displacement(field) = &self.steps[place].0 else { return None };
        let rest: Vec<Transform> = self.steps[place..].iter().map(|(step, _)| step.clone()).collect();
        Some((&field.grid, TransformChain::from(rest)))
    }
}

/// The affine map of a transform; `None` for a displacement field.
pub fn as_affine(transform: &Transform) -> Option<AffineTransform> {
    match transform {
        Transform::Affine(affine) => Some(*affine),
        Transform::Displacement(_) => None,
    }
}

/// Returns the translation from a landmark of the fixed image to the same landmark of the moving image.
fn between(images: &[PathBuf; 2], landmark: Landmark) -> Result<AffineTransform, CliError> {
    let point = |path: &PathBuf| {
        Ok::<_, CliError>(match landmark {
            Landmark::Centre => GridRule::Itk.read_grid(path)?.centre(),
            Landmark::Origin => GridRule::Itk.read_grid(path)?.origin,
            Landmark::Mass => {
                let image = GridRule::Itk.read_volume(path)?;
                image.centre_of_gravity().unwrap_or_else(|| image.grid.centre())
            }
        })
    };
    let (fixed, moving) = (point(&images[0])?, point(&images[1])?);
    Ok(AffineTransform { translation: moving - fixed, ..AffineTransform::identity() })
}

/// All data that a call of `antsRegistration` reads.
pub struct Inputs {
    /// The images, masks and options of the registration.
    pub task: Task,
    /// The first fixed and the first moving image as read from their files. The registered images (in the field `task`)
    /// differ from these originals if initial transforms were applied to them by resampling.
    pub originals: [Arc<Volume>; 2],
    /// The initial transforms, which precede the stages.
    pub starts: Starts,
}

impl Inputs {
    /// Reads the input files of a command line of `antsRegistration` (`request`). `plan` has the options of this
    /// program that correspond to the command line.
    ///
    /// # Errors
    /// Files that cannot be read or do not fit each other.
    pub fn read(request: &Request, plan: &Plan) -> Result<Inputs, CliError> {
        let starts = Starts::read(&request.starts)?;
        let fixed_starts = Starts::read(&request.fixed_starts)?;
        let options = Options { start: Start::Transform(starts.affine()), ..plan.options.clone() };
        let read = |side: usize| {
            let images = plan.pairs.par_iter().map(|pair| {
                let image = inputs::image_by(GridRule::Itk, &pair[side])?;
                super::super::check_dimension(request.slices, [(pair[side].as_path(), &image.grid)])?;
                Ok::<_, CliError>(Arc::new(image))
            });
            images.collect::<Result<Vec<_>, _>>()
        };
        let (fixed, moving) = rayon::join(|| read(0), || read(1));
        let (mut fixed, mut moving) = (fixed?, moving?);
        let originals = [fixed[0].clone(), moving[0].clone()];
        let notes = [&fixed, &moving].into_iter().enumerate().flat_map(|(side, images)| {
            images
                .iter()
                .zip(&plan.pairs)
                .filter_map(move |(image, pair)| inputs::labels_as_image(image, &pair[side]))
        });
        let notes = notes.collect();
        let masks = |side: usize, grid: &Grid| {
            let each = plan.masks.iter().map(|pair| {
                pair[side].as_deref().map(|path| mask::read(path, grid)).transpose().map(|mask| mask.map(Arc::new))
            });
            let each = each.collect::<Result<Vec<_>, CliError>>()?;
            Ok::<_, CliError>(match each.as_slice() {
                [] | [None] => Mask::None,
                [Some(mask)] => Mask::All(mask.clone()),
                _ => Mask::PerStage(each),
            })
        };
        let mut fixed_mask = masks(0, &fixed[0].grid)?;
        let mut moving_mask = masks(1, &moving[0].grid)?;
        if let Some(chain) = fixed_starts.whole() {
            (fixed, fixed_mask) = carried(&fixed, &fixed_mask, &originals[0].grid, &chain);
        }
        if let Some((onto, chain)) = starts.rest() {
            (moving, moving_mask) = carried(&moving, &moving_mask, onto, &chain);
        }
        let side = |mut images: Vec<Arc<Volume>>, mask| Side {
            channels: images.split_off(1).into_iter().map(Into::into).collect(),
            image: images.remove(0).into(),
            mask,
            white_matter: None,
            lesion: None,
        };
        let sides = [side(fixed, fixed_mask), side(moving, moving_mask)];
        if let Err(error @ Error::GridOfStage { .. }) = options.precheck(sides.each_ref()) {
            return Err(Refusal::new("--metric", error).into());
        }
        Ok(Inputs { task: Task { sides, options, notes }, originals, starts })
    }
}

/// Resamples images and their masks on the grid `onto`, through a chain of transforms.
fn carried(images: &[Arc<Volume>], mask: &Mask, onto: &Grid, chain: &TransformChain) -> (Vec<Arc<Volume>>, Mask) {
    let carry = |image: &Arc<Volume>, how| Arc::new(apply::resample(image, onto, chain, how, 0.0));
    let nearest = |mask: &Arc<Volume>| carry(mask, apply::Interpolation::Nearest);
    let mask = match mask {
        Mask::All(mask) => Mask::All(nearest(mask)),
        Mask::PerStage(masks) => Mask::PerStage(masks.iter().map(|mask| mask.as_ref().map(nearest)).collect()),
        Mask::None => Mask::None,
    };
    (images.iter().map(|image| carry(image, apply::Interpolation::Linear)).collect(), mask)
}

/// Refuses the output of the inverse image if an initial transform has no inverse.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn check_inverse(request: &Request, starts: &Starts) -> Result<(), Refusal> {
    if request.output.inverse_warped.is_some() && starts.rest().is_some() {
        let why =
            "the inverse-warped image is not supported with an initial displacement field, which has no inverse";
        return Err(Refusal::new("--output", why).instead("leave the inverse-warped image out of --output"));
    }
    Ok(())
}
