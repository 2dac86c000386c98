//! The outputs of a registration, named and numbered as in ANTs.
//!
//! ANTs keeps a list of transforms: the initial transforms in reverse order of the command line, then the transforms of
//! the stages. If the list is collapsed, successive linear transforms become one. The number in an output name is the
//! position in that list.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use antsreg_console::CliError;
use antsreg_core::io::itk::CompositePart;
use antsreg_core::io::outputs::{self, Outputs, Writing};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, ChainError, DisplacementField, Transform, TransformChain, Volume};
use nalgebra::Point3;

use super::inputs::{Starts, as_affine};
use super::plan::Plan;
use super::request::Request;

/// An entry in ANTs' list of the transforms of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// The initial transform at this position in the list of initial transforms on the command line.
    Start(usize),
    /// The linear transform at this position in the list of linear transforms that the stages compute.
    Linear(usize),
    /// The total displacement field (warp) of all deformable stages.
    Warp,
}

/// The contents of an output file of `antsRegistration`, such as an affine map, a warp or a warped image.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// One affine map: the composition of the listed linear transforms, which follow each other in ANTs' list.
    Affine(Vec<Entry>),
    /// The displacement field that the user gave as initial transform, at this position in the list of initial
    /// transforms.
    Given(usize),
    /// The total displacement field (warp) of the deformable stages, or its inverse.
    Warp { inverse: bool },
    /// All transforms of the registration in one composite file, or the inverses of all transforms.
    Composite { inverse: bool },
    /// The moving image, resampled on the grid of the fixed image.
    Warped,
    /// The fixed image, resampled on the grid of the moving image.
    InverseWarped,
}

/// The paths of all output files of a registration, each with the kind of its contents.
#[derive(Debug)]
pub struct Files(Vec<(PathBuf, What)>);

/// The results of a registration from which the output files of `antsRegistration` are made.
pub struct Found<'a> {
    /// The initial transforms, which precede the stages.
    pub starts: &'a Starts,
    /// For each linear stage, the composition of all affine maps up to the end of this stage.
    pub affines: Vec<AffineTransform>,
    /// The total displacement field (warp) of the deformable stages.
    pub warp: Option<&'a DisplacementField>,
    /// The inverse of the total displacement field (warp) of the deformable stages.
    pub inverse_warp: Option<&'a DisplacementField>,
    /// The moving image, resampled on the grid of the fixed image.
    pub warped: Option<&'a Volume>,
    /// The fixed image, resampled on the grid of the moving image.
    pub inverse_warped: Option<&'a Volume>,
    /// Centre of rotation with which affine maps are written, RAS mm.
    pub centre: Point3<f64>,
    /// Whether the registered images have two dimensions.
    pub slices: bool,
    /// Storage type of the voxels of images and warps.
    pub stored: nifti::Stored,
}

impl Files {
    /// The output files that a command line of `antsRegistration` (`request`) specifies.
    pub fn of(request: &Request, plan: &Plan, starts: &Starts) -> Files {
        let output = &request.output;
        let file = |rest: String| PathBuf::from(format!("{}{rest}", output.prefix));
        let starts_of_list = (0..starts.steps.len()).rev().map(Entry::Start);
        let linear = (0..plan.linear.len()).map(Entry::Linear);
        let list: Vec<Entry> = starts_of_list.chain(linear).chain(plan.deformable.then_some(Entry::Warp)).collect();
        let is_affine = |entry: &Entry| match entry {
            Entry::Start(place) => as_affine(&starts.steps[*place].0).is_some(),
            Entry::Linear(_) => true,
            Entry::Warp => false,
        };
        let groups: Vec<Vec<Entry>> = match request.collapse {
            true => list.chunk_by(|a, b| is_affine(a) && is_affine(b)).map(<[Entry]>::to_vec).collect(),
            false => list.into_iter().map(|entry| vec![entry]).collect(),
        };
        let mut files = Vec::new();
        for (number, group) in groups.into_iter().enumerate() {
            let name = match (request.collapse, group[0]) {
                (true, _) => Some("GenericAffine"),
                (false, Entry::Linear(stage)) => Some(plan.linear[stage].name),
                (false, Entry::Start(place)) => starts.steps[place].1.then_some("DerivedInitialMovingTranslation"),
                (false, Entry::Warp) => None,
            };
            // If all transforms are written to one composite file, ANTs writes no files for single transforms, except
            // for initial transforms that ANTs has derived from two images.
            let derived = name == Some("DerivedInitialMovingTranslation");
            if output.composite && !derived {
                continue;
            }
            match (group[0], name) {
                (Entry::Warp, _) => {
                    files.push((file(format!("{number}Warp.nii.gz")), What::Warp { inverse: false }));
                    files.push((file(format!("{number}InverseWarp.nii.gz")), What::Warp { inverse: true }));
                }
                (Entry::Start(place), _) if !is_affine(&group[0]) => {
                    // Initial transforms that were read from files are written again only if the list of transforms is
                    // collapsed, that is, if successive linear transforms are composed.
                    if request.collapse {
                        files.push((file(format!("{number}Warp.nii.gz")), What::Given(place)));
                    }
                }
                (_, Some(name)) => files.push((file(format!("{number}{name}.mat")), What::Affine(group))),
                (_, None) => {}
            }
        }
        if output.composite {
            files.push((file("Composite.h5".into()), What::Composite { inverse: false }));
            if starts.rest().is_none() {
                files.push((file("InverseComposite.h5".into()), What::Composite { inverse: true }));
            }
        }
        files.extend(output.warped.clone().map(|path| (path, What::Warped)));
        files.extend(output.inverse_warped.clone().map(|path| (path, What::InverseWarped)));
        Files(files)
    }

    /// Checks that the outputs can be written. They may replace inputs.
    ///
    /// # Errors
    /// An output file that cannot be written.
    pub fn check(&self) -> Result<(), CliError> {
        Ok(outputs::check_in_place(self.0.iter().map(|(path, _)| path))?)
    }

    /// Writes all output files; either all of them appear under their names or none.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, found: &Found) -> Result<(), CliError> {
        let mut outputs = Outputs::new();
        let mut all: Vec<(&Path, Writing<CliError>)> = Vec::new();
        for (path, what) in &self.0 {
            let write: Writing<CliError> = match what {
                What::Affine(entries) => {
                    let affine = entries
                        .iter()
                        .fold(AffineTransform::identity(), |whole, entry| whole.after(&found.affine_of(*entry)));
                    Box::new(move |path| match found.slices {
                        true => Ok(itk::write_affine_of_slices(path, &affine, found.centre)?),
                        false => Ok(itk::write_affine(path, &affine, found.centre)?),
                    })
                }
                What::Given(place) => field_writer(found.given(*place), found.stored),
                What::Warp { inverse: false } => field_writer(found.warp, found.stored),
                What::Warp { inverse: true } => field_writer(found.inverse_warp, found.stored),
                What::Composite { inverse } => {
                    let dimensions = if found.slices { itk::Dimensions::Two } else { itk::Dimensions::Three };
                    let parts = if *inverse { found.backward_parts() } else { found.forward_parts() };
                    Box::new(move |path| Ok(itk::write_composite_parts(path, &parts?, found.centre, dimensions)?))
                }
                What::Warped => image_writer(found.warped, found.stored),
                What::InverseWarped => image_writer(found.inverse_warped, found.stored),
            };
            all.push((path, write));
        }
        outputs.write_all(all)?;
        outputs.commit()?;
        Ok(())
    }
}

fn field_writer(field: Option<&DisplacementField>, stored: nifti::Stored) -> Writing<'_, CliError> {
    Box::new(move |path| match (field, stored) {
        (None, _) => Ok(()),
        (Some(field), nifti::Stored::Float32) => Ok(itk::write_warp(path, field)?),
        (Some(field), stored) => Ok(itk::write_warp_as(path, field, stored)?),
    })
}

fn image_writer(image: Option<&Volume>, stored: nifti::Stored) -> Writing<'_, CliError> {
    Box::new(move |path| {
        let Some(image) = image else { return Ok(()) };
        match stored {
            nifti::Stored::Float32 => Ok(nifti::write_volume(path, image)?),
            stored => {
                let file = nifti::PlanesFile { grid: &image.grid, count: 1, planes: nifti::Planes::One, stored };
                file.write(path, |_| Ok(image.clone()))
            }
        }
    })
}

impl<'a> Found<'a> {
    /// Returns the displacement field that is the initial transform at this position on the command line; `None` if
    /// that transform is an affine map.
    fn given(&self, place: usize) -> Option<&'a DisplacementField> {
        match &self.starts.steps[place].0 {
            Transform::Displacement(field) => Some(field),
            Transform::Affine(_) => None,
        }
    }

    /// The affine map of one entry in ANTs' list of transforms.
    fn affine_of(&self, entry: Entry) -> AffineTransform {
        let identity = AffineTransform::identity();
        match entry {
            Entry::Start(place) => as_affine(&self.starts.steps[place].0).unwrap_or(identity),
            Entry::Linear(n) => {
                // The affine map of one linear stage alone. It is the composition of all affine maps up to the end of
                // this stage, followed by the inverse of the composition of the maps before this stage.
                let before = if n == 0 { self.starts.affine() } else { self.affines[n - 1] };
                before.inverse().map_or(identity, |back| back.after(&self.affines[n]))
            }
            Entry::Warp => identity,
        }
    }

    /// The affine of the linear stages, composed with the initial affines before the first displacement field.
    pub fn affine(&self) -> AffineTransform {
        self.affines.last().copied().unwrap_or_else(|| self.starts.affine())
    }

    /// The chain of all transforms from fixed to moving points.
    ///
    /// # Errors
    /// A singular affine.
    pub fn forward(&self) -> Result<TransformChain, CliError> {
        Ok(chain(self.forward_parts()?))
    }

    /// The chain from moving to fixed points; all initial transforms must be affine.
    ///
    /// # Errors
    /// A singular affine.
    pub fn backward(&self) -> Result<TransformChain, CliError> {
        Ok(chain(self.backward_parts()?))
    }

    fn forward_parts(&self) -> Result<Vec<CompositePart<'a>>, CliError> {
        self.inverse_affine()?;
        let warp = self.warp.map(|warp| CompositePart::Field(Cow::Borrowed(warp)));
        let rest = self.starts.rest().into_iter().flat_map(|(_, rest)| rest.steps);
        let rest = rest.map(|step| match step.transform {
            Transform::Affine(affine) => CompositePart::Affine(affine),
            Transform::Displacement(field) => CompositePart::Field(Cow::Owned(field)),
        });
        Ok(warp.into_iter().chain([CompositePart::Affine(self.affine())]).chain(rest).collect())
    }

    fn backward_parts(&self) -> Result<Vec<CompositePart<'a>>, CliError> {
        let affine = CompositePart::Affine(self.inverse_affine()?);
        let inverse_warp = self.inverse_warp.map(|warp| CompositePart::Field(Cow::Borrowed(warp)));
        Ok([affine].into_iter().chain(inverse_warp).collect())
    }

    fn inverse_affine(&self) -> Result<AffineTransform, ChainError> {
        let affine = self.affine();
        let determinant = affine.matrix.determinant();
        affine.inverse().ok_or(ChainError::Singular { name: "the affine".into(), determinant })
    }
}

fn chain(parts: Vec<CompositePart>) -> TransformChain {
    parts.into_iter().map(Transform::from).collect::<Vec<_>>().into()
}
