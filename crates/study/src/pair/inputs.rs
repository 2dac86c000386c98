//! Reads and checks all inputs of a registration before anything is computed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use antsreg_core::io::itk;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::{AffineTransform, Grid, LabelVolume, Transform, TransformChain, Volume};
use antsreg_register::linear::Start;
use antsreg_register::{self as register, Grids, Mask, Side};
use antsreg_report::Reference;
use nalgebra::Point3;

use super::files::{PairFiles, StartFile};
use super::white::WhiteMatterRecord;
use crate::skulls::Skull;
use crate::transforms::check_of_volumes;
use crate::{Error, FileIdentity, geometry, inputs};

/// Inputs that all registrations to the same fixed image share: the fixed images, their mask and labels, and the
/// initial transform.
#[derive(Debug, Clone)]
pub struct FixedInputs {
    /// The fixed images and their mask.
    pub side: Side,
    /// Labels of the fixed image, with which the warped labels are compared.
    pub labels: Option<Arc<LabelVolume>>,
    /// Labels for which the overlap of moving and fixed labels is computed; `None` for all labels except 0.
    pub label_list: Option<Vec<i32>>,
    /// The initial transform.
    pub start: Start,
    /// The file from which the initial transform was read.
    pub start_file: StartFile,
    /// Identities (size, time, inode) of the input files at the time when they were read.
    pub identities: Vec<FileIdentity>,
    /// Pictures of the fixed image for HTML pages; empty until a first page needs the pictures.
    pub(super) drawn: Arc<OnceLock<Reference>>,
}

/// Inputs of a registration: images, masks and labels of the fixed and of the moving side.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// Images, mask and labels of the fixed side.
    pub fixed: FixedInputs,
    /// The moving images and their mask.
    pub moving: Side,
    /// Labels of the moving image.
    pub moving_labels: Option<LabelVolume>,
    /// The extracted brains of the fixed and of the moving image, each with the whole head. If a brain was extracted,
    /// the image of the registration shows only this brain.
    pub skulls: [Option<Skull>; 2],
    /// Results about the white matter that was found in the fixed image; `None` if a mask of the white matter was
    /// given, or no stage needs the white matter.
    pub white_matter: Option<WhiteMatterRecord>,
    /// Warnings about image headers that say too little, or that ANTs reads differently.
    pub warnings: Vec<String>,
    /// Identities (size, time, inode) of all input files at the time when they were read.
    pub identities: Vec<FileIdentity>,
}

impl FixedInputs {
    /// Reads and checks the inputs that do not depend on the moving image. The shading of images is not removed yet.
    ///
    /// # Errors
    /// A file that cannot be read; a mask, label map or channel that does not fit the fixed image.
    pub fn read(files: &PairFiles) -> Result<FixedInputs, Error> {
        let identities = FileIdentity::of_all(files.fixed_inputs());
        let image = inputs::image(&files.fixed)?;
        let on_grid = |path: &Path| inputs::mask(path, &files.fixed, &image.grid);
        let mask = files.fixed_mask.as_deref().map(on_grid).transpose()?;
        let lesion = inputs::lesion(&files.fixed_lesions, &files.fixed, &image)?;
        let labels = files.labels.fixed.as_deref();
        let labels = labels.map(|path| inputs::labels_of(path, &files.fixed, &image.grid)).transpose()?;
        let label_list = match (&files.labels.list, &files.labels.fixed, &labels) {
            (Some(list), Some(path), Some(labels)) => Some(inputs::label_list_of(list, path, labels)?),
            (list, ..) => list.as_deref().map(inputs::label_list).transpose()?,
        };
        let channels = files.channels.iter().map(|channel| aligned(&channel.fixed, &files.fixed, &image));
        let channels = channels.collect::<Result<Vec<_>, Error>>()?;
        let white_matter = files.white_matter.as_deref().map(|path| {
            let mask = inputs::image_by(GridRule::default(), path)?;
            check_aligned([path, &files.fixed], [&mask.grid, &image.grid])?;
            Ok::<_, Error>(mask)
        });
        let white_matter = white_matter.transpose()?.map(Arc::new);
        let start = files.start.read()?;
        if let StartFile::File(file) = &files.start
            && !image.grid.is_slice()
        {
            check_of_volumes(file)?;
        }
        Ok(FixedInputs {
            side: Side { white_matter, lesion, ..side(image, channels, mask) },
            labels: labels.map(Arc::new),
            label_list,
            start,
            start_file: files.start.clone(),
            identities,
            drawn: Arc::default(),
        })
    }

    /// The centre of rotation that is written to ITK's transform files: the centre of mass of the first fixed image,
    /// RAS mm.
    ///
    /// # Errors
    /// A device that fails while the image's centre is computed.
    pub fn centre(&self) -> Result<Point3<f64>, Error> {
        Ok(self.side.image.centre()?)
    }

    /// Identities (size, time, inode) of those files of the fixed inputs that a registration of `files` uses. Without
    /// moving labels the registration does not use the fixed labels.
    pub fn identities_of(&self, files: &PairFiles) -> Vec<FileIdentity> {
        let used: Vec<PathBuf> =
            files.fixed_inputs().into_iter().filter_map(|path| std::path::absolute(path).ok()).collect();
        self.identities.iter().filter(|identity| used.contains(&identity.path)).cloned().collect()
    }
}

impl Inputs {
    /// Reads and checks the images, masks and labels of both sides of a registration, fixed and moving. The shading of
    /// images is not removed yet.
    ///
    /// # Errors
    /// A file that cannot be read, or that does not fit the other files.
    pub fn read(files: &PairFiles) -> Result<Inputs, Error> {
        let mut inputs = Inputs::beside(FixedInputs::read(files)?, files)?;
        let odd = inputs::odd_header(&files.fixed);
        inputs.warnings.splice(..0, odd);
        Ok(inputs)
    }

    /// Reads and checks the moving images (one for each channel), their masks and labels. The shading of images is not
    /// removed yet.
    ///
    /// # Errors
    /// A file that cannot be read, or does not fit the fixed image.
    pub fn beside(fixed: FixedInputs, files: &PairFiles) -> Result<Inputs, Error> {
        let moving_files = FileIdentity::of_all(files.moving_inputs());
        let identities = [fixed.identities_of(files), moving_files].concat();
        let moving = inputs::image(&files.moving)?;
        let grids = [fixed.side.grid(), &moving.grid];
        inputs::check_alike([&files.fixed, &files.moving], grids)?;
        check_in_plane(&fixed.start_file, &fixed.start, grids)?;
        let mask = files.moving_mask.as_deref().map(|path| inputs::mask(path, &files.moving, &moving.grid));
        let labels = files.labels.moving.as_deref();
        let labels = labels.map(|path| inputs::labels_of(path, &files.moving, &moving.grid));
        let channels = files.channels.iter().map(|channel| aligned(&channel.moving, &files.moving, &moving));
        let channels = channels.collect::<Result<Vec<_>, Error>>()?;
        let (mask, moving_labels) = (mask.transpose()?, labels.transpose()?);
        let lesion = inputs::lesion(&files.moving_lesions, &files.moving, &moving)?;
        let warnings = inputs::odd_header(&files.moving).into_iter().collect();
        Ok(Inputs {
            moving: Side { lesion, ..side(moving, channels, mask) },
            fixed,
            moving_labels,
            skulls: [None, None],
            white_matter: None,
            warnings,
            identities,
        })
    }

    /// Both sides.
    pub fn sides(&self) -> [&Side; 2] {
        [&self.fixed.side, &self.moving]
    }

    /// The grids of the fixed and the moving images, from which the memory that a registration takes is estimated.
    pub fn grids(&self) -> Grids<'_> {
        Grids::of(self.sides())
    }

    /// Adds the paths of the images to the error of a registration of these inputs.
    pub fn blame(&self, files: &PairFiles, error: register::Error) -> Error {
        self.blame_on([&files.fixed, &files.moving], error)
    }

    /// Adds the names of the fixed and the moving image to the error of a registration of these inputs.
    pub fn blame_on(&self, names: [&Path; 2], error: register::Error) -> Error {
        name_files(error, names, self.sides().map(Side::grid), &self.fixed.start_file)
    }
}

/// Adds the names of the fixed and the moving image to an error of a registration, if the error is that these images do
/// not overlap.
pub(crate) fn name_files(
    error: register::Error,
    [fixed, moving]: [&Path; 2],
    grids: [&Grid; 2],
    start: &StartFile,
) -> Error {
    match error {
        register::Error::NoOverlapAtStart => Error::NoOverlap {
            fixed: fixed.into(),
            moving: moving.into(),
            grids: Box::new(grids.map(geometry::describe)),
            start: start.to_string(),
        },
        error => error.into(),
    }
}

/// Refuses an initial transform from a file that moves slices out of their plane: ITK's two-dimensional affine could
/// not hold the result.
pub(crate) fn check_in_plane(file: &StartFile, start: &Start, grids: [&Grid; 2]) -> Result<(), Error> {
    match (file, start) {
        (StartFile::File(file), Start::Transform(affine))
            if grids.iter().all(|grid| grid.is_slice_across_z()) && !itk::stays_in_plane(affine) =>
        {
            Err(Error::OutOfPlane { path: file.path.clone() })
        }
        _ => Ok(()),
    }
}

/// Creates the fixed or the moving side of a registration from the image of the first channel, the images of the other
/// channels, and a mask.
fn side(image: Volume, channels: Vec<Volume>, mask: Option<Volume>) -> Side {
    Side {
        image: image.into(),
        channels: channels.into_iter().map(Into::into).collect(),
        mask: mask.map_or(Mask::None, |mask| Mask::All(Arc::new(mask))),
        white_matter: None,
        lesion: None,
    }
}

/// Reads the image of a channel other than the first, which may have its own grid. Checks that the image overlaps with
/// the first channel of the same side (fixed or moving). It may be the map of a tissue or a mask.
fn aligned(path: &Path, other: &Path, first: &Volume) -> Result<Volume, Error> {
    let volume = inputs::image_by(GridRule::default(), path)?;
    check_aligned([path, other], [&volume.grid, &first.grid])?;
    Ok(volume)
}

/// Refuses an image of a channel other than the first, if the image does not overlap with the first channel of the same
/// side (fixed or moving).
pub(super) fn check_aligned([path, other]: [&Path; 2], [grid, first]: [&Grid; 2]) -> Result<(), Error> {
    inputs::check_alike([path, other], [grid, first])?;
    let unmoved = TransformChain::from(vec![Transform::Affine(AffineTransform::identity())]);
    match unmoved.check(first, Some(grid)) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::Elsewhere { path: path.into(), other: other.into() }),
    }
}
