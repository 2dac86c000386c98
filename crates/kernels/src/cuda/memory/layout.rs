//! Displacements on their way between main memory, where the components of a voxel are adjacent, and the planes of a field.

use nalgebra::Matrix3;

use crate::Error;
use crate::cuda::Cuda;
use crate::cuda::buffer::Buffer;
use crate::cuda::field::Field;
use crate::cuda::launch::{Launch, Shape, Vector, arguments};
use crate::cuda::module::Kernel;

/// The three rows of a matrix as arguments of a kernel.
pub(in crate::cuda) fn rows(matrix: &Matrix3<f32>) -> [Vector; 3] {
    [0, 1, 2].map(|row| Vector([0, 1, 2].map(|column| matrix[(row, column)])))
}

/// Prepares a launch of one thread per voxel, with threads in the order of the voxels in memory.
pub(in crate::cuda) fn over_list<'a>(kernel: &'a Kernel, field: &Field) -> Launch<'a> {
    Launch::over_elements(kernel, field.len(), 256, 2 * field.bytes())
}

impl Cuda {
    /// Uploads vectors to a new field, multiplied by `matrix` if a matrix is given.
    pub(in crate::cuda) fn upload_vectors(
        &self,
        shape: [usize; 3],
        vectors: &[[f32; 3]],
        matrix: Option<&Matrix3<f32>>,
    ) -> Result<Field, Error> {
        Error::check_length("upload_field", shape, vectors.len())?;
        let mut field = Field::uninitialised(&self.device, shape)?;
        let staged = Buffer::from_slice(&self.device, vectors)?;
        let layout = self.kernels.layout(&self.device)?;
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
    pub(in crate::cuda) fn download_vectors(
        &self,
        field: &Field,
        turned: Option<(&Matrix3<f32>, Option<f32>)>,
    ) -> Result<Vec<[f32; 3]>, Error> {
        self.joined_vectors(field, turned)?.download(field.len())
    }

    /// The vectors of a field on the device in the order of main memory, in which the components of a voxel are
    /// adjacent; multiplied by a matrix if one is given, and rounded to multiples of a step.
    pub(in crate::cuda) fn joined_vectors(
        &self,
        field: &Field,
        turned: Option<(&Matrix3<f32>, Option<f32>)>,
    ) -> Result<Buffer<[f32; 3]>, Error> {
        let joined = Buffer::<[f32; 3]>::uninitialised(&self.device, field.len())?;
        let layout = self.kernels.layout(&self.device)?;
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
    pub(in crate::cuda) fn turned_planes(
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
        let launch = over_list(&self.kernels.layout(&self.device)?.turned_planes, field);
        // SAFETY: `planes` has as many planes as `count` says, and the field has three. Threads beyond the last voxel
        // return.
        unsafe { self.launch(launch, arguments![source, x, y, z, step, factors, count, target, shape])? };
        Ok(planes)
    }
}
