//! Applies a chain of transforms to images of every kind, from file to file: scalars, vectors, tensors, series and
//! channels.

use std::path::{Path, PathBuf};

use antsreg_core::io;
use antsreg_core::io::nifti::{Coded, GridRule, Planes, PlanesFile, PlanesReader, Stored, Values};
use antsreg_core::{Grid, TransformChain, Volume, memory};
use antsreg_kernels::apply::{self, SplineOrder, Window};

use nalgebra::Matrix3;

use crate::Error;

/// The axes of ITK's world (LPS) in this program's world (RAS), as columns.
const LPS: Matrix3<f64> = Matrix3::new(-1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0);

/// Kind of an image: what its voxels hold, and along which axes its volumes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An image with one number for each voxel.
    Scalar,
    /// An image of vectors, with their components along the fifth axis.
    Vector,
    /// An image of vectors along the axes of ITK's world (LPS), with their components along the fifth axis. They are not
    /// turned from the axes of one grid to those of another.
    PhysicalVector,
    /// An image of diffusion tensors, with six components along the fifth axis.
    Tensor,
    /// A series of scalar volumes along the fourth axis.
    Series,
    /// One volume of a series along the fourth axis, chosen by its index, counted from 0.
    OneOfSeries(usize),
    /// An image with several channels along the fifth axis.
    Channels,
    /// An image with volumes along both the fourth and the fifth axis.
    FiveDimensional,
}

/// The standard deviation of a Gaussian along each axis of the input image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sigma {
    /// The standard deviation of the Gaussian along each axis is the voxel size of the input image.
    Spacing,
    /// The given standard deviations of the Gaussian along the axes of the input image, mm.
    Mm([f64; 3]),
}

impl Sigma {
    fn mm(self, grid: &Grid) -> [f64; 3] {
        match self {
            Sigma::Spacing => grid.spacing.into(),
            Sigma::Mm(sigma) => sigma,
        }
    }
}

/// Interpolation of the input image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// Trilinear interpolation.
    Linear,
    /// Nearest neighbour: the value of the nearest voxel.
    Nearest,
    /// B-spline interpolation of the voxel values, of the given order.
    Spline(SplineOrder),
    /// Windowed sinc interpolation.
    Sinc(Window),
    /// Mean of the intensities weighted by a Gaussian, which is cut off at the given number of standard deviations.
    Gaussian(Sigma, f64),
    /// For label maps: the label of the neighbouring voxels that has the largest sum of trilinear weights.
    GenericLabel,
    /// For label maps: the label of the neighbouring voxels that has the largest sum of Gaussian weights. The Gaussian
    /// is cut off at the given number of standard deviations.
    MultiLabel(Sigma, f64),
}

impl Reading {
    /// Whether the interpolation takes the value of a voxel and computes no new value.
    pub fn keeps_values(self) -> bool {
        matches!(self, Reading::Nearest | Reading::GenericLabel | Reading::MultiLabel(..))
    }

    /// The same interpolation as an argument of the resampling functions, for an image on `grid`; standard deviations
    /// of Gaussians are converted to mm.
    pub fn on(self, grid: &Grid) -> apply::Interpolation {
        match self {
            Reading::Linear => apply::Interpolation::Linear,
            Reading::Nearest => apply::Interpolation::Nearest,
            Reading::Spline(SplineOrder::CUBIC) => apply::Interpolation::BSpline,
            Reading::Spline(order) => apply::Interpolation::BSplineOfOrder(order),
            Reading::Sinc(window) => apply::Interpolation::WindowedSinc(window),
            Reading::Gaussian(sigma, alpha) => apply::Interpolation::Gaussian { sigma_mm: sigma.mm(grid), alpha },
            Reading::GenericLabel => apply::Interpolation::GenericLabel,
            Reading::MultiLabel(sigma, alpha) => apply::Interpolation::MultiLabel { sigma_mm: sigma.mm(grid), alpha },
        }
    }
}

/// An image to resample, with the options of its resampling.
#[derive(Debug, Clone)]
pub struct Carrying {
    /// Path of the input image.
    pub input: PathBuf,
    /// Kind of the input image: scalars, vectors, tensors, series or channels.
    pub kind: Kind,
    /// The rule by which the grid of the input image is read from its header: from sform, qform or pixdim.
    pub rule: GridRule,
    /// The grid of the output image.
    pub onto: Grid,
    /// Interpolation of the input image.
    pub reading: Reading,
    /// Value outside the input image. For tensors: eigenvalue of all tensors outside the image, and of tensors that
    /// are zero.
    pub outside: f32,
    /// Storage type of the output's voxels. Values stored as integers are truncated towards zero.
    pub stored: Stored,
    /// Whether values are rounded to integers before they are stored.
    pub rounded: bool,
}

impl Carrying {
    /// Opens the image and checks that it is of the requested kind.
    ///
    /// # Errors
    /// A file that cannot be read, or whose image is of another kind.
    pub fn open(&self) -> Result<Opened<'_>, Error> {
        let reader = PlanesReader::open(self.rule, &self.input)?;
        let [fourth, fifth] = reader.counts();
        let refuse = |expected| Err(Error::OtherKind { path: self.input.clone(), expected, found: [fourth, fifth] });
        match self.kind {
            Kind::Scalar if (fourth, fifth) != (1, 1) => refuse("one volume"),
            Kind::Series | Kind::OneOfSeries(_) if fifth != 1 => refuse("a series of volumes"),
            Kind::OneOfSeries(index) if index >= fourth => refuse("a series that has the requested volume"),
            Kind::Vector | Kind::PhysicalVector
                if fourth != 1 || fifth != if reader.grid().is_slice() { 2 } else { 3 } =>
            {
                refuse("vectors")
            }
            Kind::Tensor if (fourth, fifth) != (1, 6) => refuse("tensors with six components along the fifth axis"),
            Kind::Channels if fourth != 1 => refuse("channels along the fifth axis, each of one volume"),
            _ => Ok(Opened { carrying: self, reader }),
        }
    }
}

/// An open image whose header has been checked.
pub struct Opened<'a> {
    carrying: &'a Carrying,
    reader: PlanesReader,
}

impl Opened<'_> {
    /// The grid of the input image.
    pub fn grid(&self) -> &Grid {
        self.reader.grid()
    }

    /// Number of axes in the header of the image, without trailing axes of one voxel.
    pub fn dimensions(&self) -> usize {
        self.reader.dimensions()
    }

    /// Resamples the image through a chain of transforms and writes the result. A series is processed volume by
    /// volume.
    ///
    /// # Errors
    /// A file that is damaged or cannot be written; too little memory.
    pub fn write(mut self, chain: &TransformChain, path: &Path) -> Result<(), Error> {
        let Carrying { kind, ref onto, outside, stored, .. } = *self.carrying;
        let [fourth, fifth] = self.reader.counts();
        let (count, planes) = match kind {
            Kind::Scalar | Kind::OneOfSeries(_) => (1, Planes::One),
            Kind::Series => (fourth, Planes::Series(self.reader.timing())),
            Kind::Vector | Kind::PhysicalVector | Kind::Channels => (fifth, Planes::Vectors),
            Kind::Tensor => (fifth, Planes::Tensors),
            Kind::FiveDimensional => (fourth * fifth, Planes::Fifth),
        };
        self.check_memory(count)?;
        let how = self.carrying.reading.on(self.reader.grid());
        let turns = match kind {
            Kind::PhysicalVector => apply::Turns::between(onto, chain, &LPS, &LPS),
            _ => apply::Turns::between(onto, chain, &self.reader.grid().direction, &onto.direction),
        };
        let rounded = self.carrying.rounded;
        let carry = |image: &Volume, outside| {
            let mut carried = apply::resample(image, onto, chain, how, outside);
            if rounded {
                carried.voxels.iter_mut().for_each(|value| *value = value.round());
            }
            carried
        };
        let file = PlanesFile { grid: onto, count, planes, stored };
        if let Kind::OneOfSeries(index) = kind {
            for _ in 0..index {
                self.reader.skip_volume()?;
            }
        }
        match kind {
            Kind::Vector | Kind::PhysicalVector | Kind::Tensor => {}
            _ if self.carrying.reading.keeps_values() && outside.fract() == 0.0 => {
                return file.write_values(path, |_| self.next_carried(chain, outside as i128));
            }
            _ => return file.write(path, |_| Ok(carry(&self.reader.next_volume()?, outside))),
        }
        match kind {
            Kind::Vector | Kind::PhysicalVector => {
                let components = self.components(count)?;
                let mut carried: Vec<Volume> = components.iter().map(|image| carry(image, outside)).collect();
                // Vectors of slices have no third component; it is set to 0.
                let mut across = Volume::filled(onto.clone(), 0.0);
                if let [x, y, rest @ ..] = carried.as_mut_slice() {
                    let z = rest.first_mut().unwrap_or(&mut across);
                    apply::turn_vectors([&mut x.voxels, &mut y.voxels, &mut z.voxels], &turns);
                }
                file.write(path, |index| Ok(taken(&mut carried[index])))
            }
            Kind::Tensor => {
                let mut components = self.components(count)?;
                if let Ok(all) = <&mut [Volume; 6]>::try_from(components.as_mut_slice()) {
                    apply::logarithm(all.each_mut().map(|volume| &mut volume.voxels), outside);
                }
                // Outside the input image, the resampled tensor is isotropic with the eigenvalue `outside`. The tensors
                // have been replaced by their matrix logarithms, so the value outside is the logarithm of this
                // eigenvalue.
                const DIAGONAL: [usize; 3] = [0, 2, 5];
                let diagonal = if outside > 0.0 { outside.ln() } else { 0.0 };
                let outside = |index| if DIAGONAL.contains(&index) { diagonal } else { 0.0 };
                let mut carried: Vec<Volume> =
                    components.iter().enumerate().map(|(index, image)| carry(image, outside(index))).collect();
                if let Ok(all) = <&mut [Volume; 6]>::try_from(carried.as_mut_slice()) {
                    apply::turn_tensors(all.each_mut().map(|volume| &mut volume.voxels), &turns);
                    apply::exponential(all.each_mut().map(|volume| &mut volume.voxels));
                }
                file.write(path, |index| Ok(taken(&mut carried[index])))
            }
            _ => Ok(()),
        }
    }

    /// Resamples the next volume by an interpolation that keeps values. Whole numbers are moved as indices into the table
    /// of all values, and stay exact.
    fn next_carried(&mut self, chain: &TransformChain, outside: i128) -> Result<Values, Error> {
        let how = self.carrying.reading.on(self.reader.grid());
        let carry = |image: &Volume, outside| apply::resample(image, &self.carrying.onto, chain, how, outside);
        Ok(match self.reader.next_values(outside)? {
            Values::Real(image) => Values::Real(carry(&image, outside as f32)),
            Values::Whole(coded) => {
                let indices = carry(&coded.indices, coded.index(outside));
                Values::Whole(Coded { indices, table: coded.table })
            }
        })
    }

    /// Reads all components of vectors or tensors, which are reoriented together.
    fn components(&mut self, count: usize) -> Result<Vec<Volume>, Error> {
        Ok((0..count).map(|_| self.reader.next_volume()).collect::<Result<_, io::Error>>()?)
    }

    /// Checks that memory suffices to resample the image: the volumes as read, the coefficients of the interpolation,
    /// and the resampled volumes.
    fn check_memory(&self, count: usize) -> Result<(), Error> {
        let bytes = |grid: &Grid| (grid.len() * size_of::<f32>()) as u64;
        let at_once = match self.carrying.kind {
            Kind::Vector | Kind::PhysicalVector | Kind::Tensor => count as u64,
            _ => 1,
        };
        // The coefficients of a cubic spline (order 3) are stored in single precision, those of other orders in double
        // precision. So each voxel's coefficient takes up to twice the memory of a voxel value.
        let made = if matches!(self.carrying.reading, Reading::Spline(_)) { 2 } else { 0 };
        // Values that are kept exactly take 8 bytes a voxel, and as much again while their type is changed.
        let made = if self.carrying.reading.keeps_values() { 4 } else { made };
        let needed = (at_once + made) * bytes(self.reader.grid()) + (at_once + 1) * bytes(&self.carrying.onto);
        memory::check(needed)
            .map_err(|shortage| io::Error { path: self.carrying.input.clone(), kind: shortage.into() }.into())
    }
}

/// Moves the voxels of a volume into a new volume, without a copy. The old volume keeps its grid and has no voxels.
fn taken(volume: &mut Volume) -> Volume {
    Volume { grid: volume.grid.clone(), voxels: std::mem::take(&mut volume.voxels) }
}
