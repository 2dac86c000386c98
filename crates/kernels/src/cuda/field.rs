//! Displacement fields on the device: three planes, one per component, so that neighbouring threads read neighbouring
//! floats. Also their composition, and resampling on other grids.

use std::sync::Arc;

use antsreg_core::AffineTransform;
use nalgebra::Matrix3;

use super::Cuda;
use super::buffer::Buffer;
use super::device::Device;
use super::image::Image;
use super::launch::{Affine, Launch, Shape, Vector, arguments};
use super::module::Kernel;
use crate::Error;

/// A displacement field on the device: displacements in voxels, with one plane of memory per component.
pub struct Field {
    pub(super) shape: [usize; 3],
    /// Memory of the displacements of this field. Fields that were allocated together share one memory.
    components: Arc<Buffer<f32>>,
    /// Index of this field among the displacement fields whose memory was allocated together.
    number: usize,
}

/// Distance between the planes of a field, in floats. There is padding behind each plane, and the number is a multiple
/// of four.
pub(super) fn plane(shape: [usize; 3]) -> usize {
    (shape.iter().product::<usize>() + 1).next_multiple_of(64)
}

/// Largest number of voxels of a field or image: kernels use 32-bit byte offsets.
const MOST_VOXELS: usize = (1 << 30) - 64;
/// Largest number of slices of a thread that composes fields. With more slices for each thread, too few threads would
/// remain to fill the GPU.
const MOST_SLICES: usize = 8;
/// Largest number of voxels along an axis: kernels find the voxel of a coordinate by adding 2²³ to it.
const LONGEST: usize = 1 << 22;

/// Allocates `count` planes for volumes of this shape, filled with zeros or not initialised.
pub(super) fn planes(
    device: &Arc<Device>,
    shape: [usize; 3],
    count: usize,
    zeroed: bool,
) -> Result<Buffer<f32>, Error> {
    let voxels = shape.iter().try_fold(1usize, |voxels, n| voxels.checked_mul(*n));
    if voxels.is_none_or(|voxels| voxels > MOST_VOXELS) || shape.iter().any(|n| *n > LONGEST) {
        return Err(Error::TooLarge { shape, most: MOST_VOXELS });
    }
    if zeroed {
        return Buffer::zeroed(device, count * plane(shape));
    }
    let mut planes = Buffer::uninitialised(device, count * plane(shape))?;
    clear_behind_planes(&mut planes, shape, count)?;
    Ok(planes)
}

/// Sets the padding behind each component of the fields in memory to zero. Kernels may read this padding, with weight
/// zero.
fn clear_behind_planes(planes: &mut Buffer<f32>, shape: [usize; 3], count: usize) -> Result<(), Error> {
    let voxels: usize = shape.iter().product();
    (0..count).try_for_each(|n| planes.clear(n * plane(shape) + voxels..(n + 1) * plane(shape)))
}

impl Field {
    pub(super) fn uninitialised(device: &Arc<Device>, shape: [usize; 3]) -> Result<Field, Error> {
        Ok(Field { shape, components: Arc::new(planes(device, shape, 3, false)?), number: 0 })
    }

    /// Whether `other` directly follows this field in memory.
    pub(super) fn is_before(&self, other: &Field) -> bool {
        Arc::ptr_eq(&self.components, &other.components) && self.number + 1 == other.number
    }

    /// Number of voxels of the field.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Size of the field's vectors, bytes.
    pub(super) fn bytes(&self) -> u64 {
        12 * self.len() as u64
    }

    /// The address of the field on the device, for reading: that of the x component of its first voxel.
    pub(super) fn read(&self) -> u64 {
        self.components.pointer() + (12 * self.number * plane(self.shape)) as u64
    }

    /// The address of the field's first plane, for writing.
    pub(super) fn write(&mut self) -> u64 {
        self.read()
    }

    /// Sets the padding behind each component to zero, after the field's whole memory was used for something else.
    pub(super) fn clear_padding(&mut self) -> Result<(), Error> {
        let (voxels, plane) = (self.len(), plane(self.shape));
        let planes = 3 * self.number..3 * (self.number + 1);
        planes.into_iter().try_for_each(|n| self.components.fill(n * plane + voxels..(n + 1) * plane, 0))
    }
}

/// The three rows of a matrix as arguments of a kernel.
fn rows(matrix: &Matrix3<f32>) -> [Vector; 3] {
    [0, 1, 2].map(|row| Vector([0, 1, 2].map(|column| matrix[(row, column)])))
}

/// Prepares a launch of one thread per voxel, with threads in the order of the voxels in memory.
fn over_list<'a>(kernel: &'a Kernel, field: &Field) -> Launch<'a> {
    Launch::over_elements(kernel, field.len(), 256, 2 * field.bytes())
}

impl Cuda {
    pub(super) fn new_field(&self, shape: [usize; 3]) -> Result<Field, Error> {
        Ok(Field { shape, components: Arc::new(planes(&self.device, shape, 3, true)?), number: 0 })
    }

    /// Allocates two fields; the planes of the second field directly follow the planes of the first field in memory.
    pub(super) fn new_fields(&self, shape: [usize; 3]) -> Result<[Field; 2], Error> {
        let components = Arc::new(planes(&self.device, shape, 6, true)?);
        Ok([0, 1].map(|number| Field { shape, components: components.clone(), number }))
    }

    /// Uploads vectors to a new field, multiplied by `matrix` if a matrix is given.
    pub(super) fn upload_vectors(
        &self,
        shape: [usize; 3],
        vectors: &[[f32; 3]],
        matrix: Option<&Matrix3<f32>>,
    ) -> Result<Field, Error> {
        Error::check_length("upload_field", shape, vectors.len())?;
        let mut field = Field::uninitialised(&self.device, shape)?;
        let staged = Buffer::from_slice(&self.device, vectors)?;
        let layout = &self.kernels.layout;
        let (source, target, shape) = (staged.pointer(), field.write(), Shape::of(shape));
        // SAFETY: `staged` has a vector for each voxel, and the field has three planes. Threads beyond the last voxel
        // return.
        unsafe {
            match matrix.map(rows) {
                None => self.launch(over_list(&layout.split_vectors, &field), arguments![source, target, shape])?,
                Some([x, y, z]) => {
                    self.launch(over_list(&layout.split_turned, &field), arguments![source, x, y, z, target, shape])?;
                }
            }
        }
        Ok(field)
    }

    /// Downloads the vectors of a field, multiplied by a matrix if one is given, and rounded to multiples of a step.
    pub(super) fn download_vectors(
        &self,
        field: &Field,
        turned: Option<(&Matrix3<f32>, Option<f32>)>,
    ) -> Result<Vec<[f32; 3]>, Error> {
        self.joined_vectors(field, turned)?.download(field.len())
    }

    /// The vectors of a field on the device in the order of main memory, in which the components of a voxel are
    /// adjacent; multiplied by a matrix if one is given, and rounded to multiples of a step.
    pub(super) fn joined_vectors(
        &self,
        field: &Field,
        turned: Option<(&Matrix3<f32>, Option<f32>)>,
    ) -> Result<Buffer<[f32; 3]>, Error> {
        let joined = Buffer::<[f32; 3]>::uninitialised(&self.device, field.len())?;
        let layout = &self.kernels.layout;
        let (source, target, shape) = (field.read(), joined.pointer(), Shape::of(field.shape));
        // SAFETY: `joined` has a vector for each voxel, and the field has three planes. Threads beyond the last voxel
        // return.
        unsafe {
            match turned.map(|(matrix, step)| (rows(matrix), step.unwrap_or(0.0))) {
                None => self.launch(over_list(&layout.join_vectors, field), arguments![source, target, shape])?,
                Some(([x, y, z], step)) => {
                    let launch = over_list(&layout.join_turned, field);
                    self.launch(launch, arguments![source, x, y, z, step, target, shape])?;
                }
            }
        }
        Ok(joined)
    }

    /// The first components of a field's vectors, as planes without padding: multiplied by a matrix, rounded to
    /// multiples of a step, and multiplied by `factors`, one for each of these components.
    pub(super) fn turned_planes(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
        factors: &[f32],
    ) -> Result<Buffer<f32>, Error> {
        let count = factors.len().min(3);
        let planes = Buffer::uninitialised(&self.device, count * field.len())?;
        let ([x, y, z], step) = (rows(matrix), step.unwrap_or(0.0));
        let factors = Vector([0, 1, 2].map(|axis| factors.get(axis).copied().unwrap_or(0.0)));
        let (source, target, count, shape) = (field.read(), planes.pointer(), count as i32, Shape::of(field.shape));
        let launch = over_list(&self.kernels.layout.turned_planes, field);
        // SAFETY: `planes` has as many planes as `count` says, and the field has three. Threads beyond the last voxel
        // return.
        unsafe { self.launch(launch, arguments![source, x, y, z, step, factors, count, target, shape])? };
        Ok(planes)
    }

    /// A copy of the field whose vectors are rounded to multiples of `step` in other units, such as mm. The first
    /// matrix converts vectors to these units, and the second matrix converts them back.
    pub(super) fn round_vectors(
        &self,
        field: &Field,
        matrices: [&Matrix3<f32>; 2],
        step: f32,
    ) -> Result<Field, Error> {
        let mut out = Field::uninitialised(&self.device, field.shape)?;
        let [[x, y, z], [back_x, back_y, back_z]] = matrices.map(rows);
        let launch = over_list(&self.kernels.layout.round_vectors, field);
        let (source, target, shape) = (field.read(), out.write(), Shape::of(field.shape));
        // SAFETY: both fields have one shape, and threads beyond the last voxel return.
        unsafe { self.launch(launch, arguments![source, x, y, z, back_x, back_y, back_z, step, target, shape])? };
        Ok(out)
    }

    pub(super) fn compose_fields(&self, field: &mut Field, then: &Field) -> Result<(), Error> {
        Error::check_shape("compose", field.shape, then.shape)?;
        let (launch, slices) = self.walk(&self.kernels.compose.compose_fields, field, 1, MOST_SLICES);
        let (both, then, shape) = (field.write(), then.read(), Shape::of(field.shape));
        // SAFETY: both fields have one shape, and `then` is another field. Reads are clamped to the shape, and threads
        // outside it return.
        unsafe { self.launch(launch, arguments![both, then, shape, slices]) }
    }

    /// Prepares a launch of threads that process several slices each, at most `most`. Also returns the number of slices of
    /// a thread.
    pub(super) fn walk<'a>(&self, kernel: &'a Kernel, field: &Field, sides: usize, most: usize) -> (Launch<'a>, i32) {
        let slices = self.slices_of_threads(sides * field.len(), most);
        let launch = Launch::over_blocks(kernel, field.shape, [32, 8, 1], slices, 3 * field.bytes());
        (launch.for_sides(sides), slices)
    }

    pub(super) fn resize(
        &self,
        field: &Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Field,
    ) -> Result<(), Error> {
        let launch =
            Launch::over_voxels(&self.kernels.resize_field.resize_field, out.shape, field.bytes() + out.bytes());
        let (source, target) = (field.read(), out.write());
        let (source_shape, shape) = (Shape::of(field.shape), Shape::of(out.shape));
        let map = Affine::of(out_to_field);
        let [x, y, z] = rows(&matrix.cast());
        // SAFETY: reads are clamped to the shape of `field`, and threads outside the output's shape return.
        unsafe { self.launch(launch, arguments![source, source_shape, map, x, y, z, target, shape]) }
    }

    pub(super) fn jacobian(&self, field: &Field, out: &mut Image) -> Result<(), Error> {
        Error::check_shape("jacobian_determinant", field.shape, out.shape)?;
        let kernel = &self.kernels.jacobian(&self.device)?.jacobian_determinant;
        let launch = Launch::over_voxels(kernel, field.shape, field.bytes() + 4 * out.len() as u64);
        let (source, target, shape) = (field.read(), out.write(), Shape::of(field.shape));
        // SAFETY: field and image have one shape. Reads of neighbours are clamped to it, and threads outside it return.
        unsafe { self.launch(launch, arguments![source, target, shape]) }
    }
}
