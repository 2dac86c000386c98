//! Images and fields in the memory of a device.

use antsreg_core::io::Deflated;
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use crate::{Error, Lent, Place};

/// Images and fields in the memory of a device. Conventions are those of [`Backend`](crate::Backend).
pub trait Memory: Sized + Sync {
    /// A scalar volume in the memory of the device.
    type Image: Send + Sync + 'static;
    /// A displacement field in the memory of the device.
    type Field: Send + Sync + 'static;

    /// The kind of memory that images and fields of this backend lie in.
    fn place(&self) -> Place;

    /// Gives memory that this backend keeps for its next allocations back to the system. Waits for all work of the
    /// device.
    ///
    /// # Errors
    /// The device fails.
    fn release_kept_memory(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A new image of zeros.
    fn image(&self, shape: [usize; 3]) -> Result<Self::Image, Error>;

    /// Copies the voxels of an image (x fastest) to the device.
    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Self::Image, Error>;

    /// Copies the voxels of an image to the host, x fastest.
    fn download(&self, image: &Self::Image) -> Result<Vec<f32>, Error>;

    /// A copy of an image. The image may belong to another instance of the backend on the same device, if that instance
    /// has finished all its work.
    fn copy(&self, image: &Self::Image) -> Result<Self::Image, Error>;

    /// A new field of zero displacements, which is the identity map.
    fn field(&self, shape: [usize; 3]) -> Result<Self::Field, Error>;

    /// A pair of fields of zero displacements, such as those that warp the fixed and the moving image of a
    /// registration. A device may place both fields next to each other in memory, so that one kernel launch processes
    /// both.
    fn field_pair(&self, shape: [usize; 3]) -> Result<[Self::Field; 2], Error> {
        Ok([self.field(shape)?, self.field(shape)?])
    }

    /// Copies the displacements of a field, in voxels, to the device.
    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Self::Field, Error>;

    /// Copies the displacements of a field, in voxels, to the host.
    fn download_field(&self, field: &Self::Field) -> Result<Vec<[f32; 3]>, Error>;

    /// Copies the displacements of a field to the device. Each is multiplied by `matrix`, which converts from other
    /// units to voxels.
    fn upload_field_in(
        &self,
        shape: [usize; 3],
        vectors: &[[f32; 3]],
        matrix: &Matrix3<f32>,
    ) -> Result<Self::Field, Error> {
        let turned: Vec<[f32; 3]> =
            vectors.par_iter().map(|vector| (matrix * Vector3::from(*vector)).into()).collect();
        self.upload_field(shape, &turned)
    }

    /// Copies the displacements of a field to the host. Each is multiplied by `matrix`, which converts from voxels to
    /// other units. If `step` is given, a power of two of these units, components are rounded to the nearest multiple
    /// of `step`; components of 2²² steps or more are not rounded.
    fn download_field_in(
        &self,
        field: &Self::Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
    ) -> Result<Vec<[f32; 3]>, Error>;

    /// Compresses the displacements of a field as compressed files hold them. They are converted and rounded as by
    /// [`download_field_in`](Memory::download_field_in). Then the components are multiplied by `factors`, one for each
    /// component that is kept, and ordered component by component: all x first.
    fn deflate_field_in(
        &self,
        field: &Self::Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
        factors: &[f32],
    ) -> Result<Deflated, Error> {
        let vectors = self.download_field_in(field, matrix, step)?;
        let component = |(axis, factor)| vectors.iter().map(move |vector: &[f32; 3]| factor * vector[axis]);
        let numbers: Vec<f32> = factors.iter().copied().enumerate().flat_map(component).collect();
        Ok(Deflated::of(&numbers))
    }

    /// Compresses the voxels of an image as compressed files hold them.
    fn deflate_image(&self, image: &Self::Image) -> Result<Deflated, Error> {
        Ok(Deflated::of(&self.download(image)?))
    }

    /// A copy of an image's voxels that stays in the device's memory, for other libraries.
    fn lend_image(&self, image: &Self::Image) -> Result<Lent, Error>;

    /// A copy of a field's displacements that stays in the device's memory, for other libraries. Each is multiplied by
    /// `matrix` and rounded as by [`download_field_in`](Memory::download_field_in).
    fn lend_field(&self, field: &Self::Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Result<Lent, Error>;
}
