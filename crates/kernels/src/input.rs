//! Input images of a registration: voxels in main memory, or an image that is on the device already.

use std::borrow::Cow;

use antsreg_core::{Grid, Volume};

use crate::{Backend, Error};

/// A scalar volume: its grid, and the location of its voxels. `I` is the image type of the backend that reads the
/// volume.
#[derive(Debug)]
pub struct Input<'a, I> {
    /// Grid of the input image: size, spacing, origin and direction.
    pub grid: &'a Grid,
    /// The voxels of the image, x fastest: in main memory or on the device. Their number must be that of the grid's
    /// voxels.
    pub voxels: Voxels<'a, I>,
}

/// The voxels of an input image, in main memory or on the device.
#[derive(Debug)]
pub enum Voxels<'a, I> {
    /// Voxels in main memory, x fastest.
    Host(&'a [f32]),
    /// Voxels on the device, in an image of the backend.
    Device(&'a I),
}

impl<I> Clone for Input<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Input<'_, I> {}

impl<I> Clone for Voxels<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Voxels<'_, I> {}

impl<'a, I> From<&'a Volume> for Input<'a, I> {
    fn from(volume: &'a Volume) -> Self {
        Input { grid: &volume.grid, voxels: Voxels::Host(&volume.voxels) }
    }
}

impl<'a, I> Input<'a, I> {
    /// Copies the voxels to a new image of the backend.
    ///
    /// # Errors
    /// The number of voxels differs from that of the grid, or the device fails.
    pub fn load<B: Backend<Image = I>>(&self, backend: &B) -> Result<I, Error> {
        match self.voxels {
            Voxels::Host(voxels) => backend.upload(self.grid.shape, voxels),
            Voxels::Device(image) => backend.copy(image),
        }
    }

    /// The voxels, copied to main memory if they are on the device.
    ///
    /// # Errors
    /// The device fails.
    pub fn on_host<B: Backend<Image = I>>(&self, backend: &B) -> Result<Cow<'a, [f32]>, Error> {
        Ok(match self.voxels {
            Voxels::Host(voxels) => Cow::Borrowed(voxels),
            Voxels::Device(image) => Cow::Owned(backend.download(image)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::Memory;
    use nalgebra::{Matrix3, Point3, Vector3};

    use super::*;
    use crate::Cpu;

    #[test]
    fn voxels_are_the_same_wherever_they_lie() {
        let grid = Grid {
            shape: [2, 1, 3],
            spacing: Vector3::repeat(1.0),
            origin: Point3::origin(),
            direction: Matrix3::identity(),
        };
        let volume = Volume { grid, voxels: vec![0.5, -1.0, 2.0, 3.0, -7.25, 0.0] };
        let image = Cpu.upload(volume.grid.shape, &volume.voxels).unwrap();
        let on_device = Input { grid: &volume.grid, voxels: Voxels::Device(&image) };
        for input in [Input::from(&volume), on_device] {
            assert_eq!(*input.on_host(&Cpu).unwrap(), volume.voxels);
            assert_eq!(Cpu.download(&input.load(&Cpu).unwrap()).unwrap(), volume.voxels);
        }
    }
}
