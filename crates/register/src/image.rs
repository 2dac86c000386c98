//! An image of a registration, in main memory or on a device.

use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, OnceLock};

use antsreg_core::{Grid, Volume, content};
use antsreg_kernels::ops::{Intensity as _, Memory as _};
use antsreg_kernels::{Backend, Input, Place, Voxels};
#[cfg(feature = "cuda")]
use antsreg_kernels::{Cuda, cuda};
use nalgebra::Point3;

use crate::backend::{OnBackend, PerBackend, map_backend, with_backend};
use crate::{Device, Error};

/// An image for a registration. Clones share the voxels.
///
/// A [`Volume`] converts to an image. Voxels that are NaN or infinite have no data and are 0.
/// An image can also be made of voxels that are on a device; a registration on that
/// device reads them there.
#[derive(Clone)]
pub struct Image(Arc<Shared>);

/// The data that all clones of an image share: voxels and centre.
struct Shared {
    stored: Stored,
    /// The centre of mass, RAS mm. It is computed once, when it is first needed.
    centre: OnceLock<Point3<f64>>,
}

enum Stored {
    /// The voxels of the image in main memory.
    Volume(Arc<Volume>),
    /// The voxels of the image in the memory of a device (CPU or GPU).
    Device(Box<DeviceImage>),
}

/// The voxels of an image in the memory of a device. They are never changed.
struct DeviceImage {
    grid: Grid,
    voxels: OnBackend<VoxelsOf>,
    /// Smallest and largest value of the image's voxels.
    range: (f32, f32),
    /// A copy of the voxels in main memory. The copy is made once, when it is first needed.
    volume: OnceLock<Arc<Volume>>,
}

/// The voxels of an image in the format of a backend.
struct VoxelsOf;

impl PerBackend for VoxelsOf {
    type On<B: Backend> = B::Image;
}

impl Image {
    /// Returns the image with its voxels on a GPU, where all stages read them, and with a copy in main memory. Returns
    /// the same image if the device is the CPU, or if the voxels are on this GPU already.
    ///
    /// # Errors
    /// A device that fails.
    pub fn on(&self, device: &Device) -> Result<Image, Error> {
        if !device.is_gpu() || self.place() == Some(device.place()) {
            return Ok(self.clone());
        }
        let volume = self.volume()?;
        let image = Image::uploaded(device, volume)?;
        if let Stored::Device(held) = &image.0.stored {
            // Storing the copy in main memory cannot fail, because the new image has no such copy yet.
            let _ = held.volume.set(volume.clone());
        }
        if let Some(centre) = self.0.centre.get() {
            let _ = image.0.centre.set(*centre);
        }
        Ok(image)
    }

    /// Copies a volume to a device. Missing voxels (NaN, infinity) are 0, as in all images.
    ///
    /// # Errors
    /// A device that fails.
    pub fn uploaded(device: &Device, volume: &Volume) -> Result<Image, Error> {
        let Volume { grid, voxels } = volume;
        Image::held(grid.clone(), map_backend!(&device.on, (backend, ()) => backend.upload(grid.shape, voxels)?))
    }

    /// Makes an image of voxels on a GPU. The voxels must have the shape of the grid.
    ///
    /// # Errors
    /// A device that fails.
    #[cfg(feature = "cuda")]
    pub fn of_cuda(cuda: &Arc<Cuda>, grid: Grid, voxels: cuda::Image) -> Result<Image, Error> {
        Image::held(grid, OnBackend::Cuda(cuda.clone(), voxels))
    }

    fn held(grid: Grid, mut voxels: OnBackend<VoxelsOf>) -> Result<Image, Error> {
        let range = |voxels: &OnBackend<VoxelsOf>| with_backend!(voxels, (backend, voxels) => backend.quantiles(voxels, 0.0, 1.0));
        let mut found = range(&voxels)?;
        if found.finite < grid.len() {
            voxels = map_backend!(&voxels, (backend, voxels) => {
                let mut values = backend.download(voxels)?;
                content::clear_missing(&mut values);
                backend.upload(grid.shape, &values)?
            });
            found = range(&voxels)?;
        }
        let range = found.low_high.unwrap_or_default();
        let held = DeviceImage { grid, voxels, range, volume: OnceLock::new() };
        Ok(Image::of(Stored::Device(held.into())))
    }

    fn of(stored: Stored) -> Image {
        Image(Arc::new(Shared { stored, centre: OnceLock::new() }))
    }

    /// Whether two images share their voxels.
    pub fn is(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        match &self.0.stored {
            Stored::Volume(volume) => &volume.grid,
            Stored::Device(held) => &held.grid,
        }
    }

    /// The image in main memory; `None` if its voxels are only on a device.
    pub fn in_main_memory(&self) -> Option<&Arc<Volume>> {
        match &self.0.stored {
            Stored::Volume(volume) => Some(volume),
            Stored::Device(held) => held.volume.get(),
        }
    }

    /// Returns the image in main memory. An image that is only on a device is downloaded once.
    ///
    /// # Errors
    /// A device that fails.
    pub fn volume(&self) -> Result<&Arc<Volume>, Error> {
        match &self.0.stored {
            Stored::Volume(volume) => Ok(volume),
            Stored::Device(held) => held.volume(),
        }
    }

    /// The centre of mass, RAS mm; the centre of the grid if all voxels are equal.
    ///
    /// # Errors
    /// The errors of [`volume`](Image::volume).
    pub fn centre(&self) -> Result<Point3<f64>, Error> {
        if let Some(centre) = self.0.centre.get() {
            return Ok(*centre);
        }
        let volume = self.volume()?;
        let centre = volume.centre_of_mass().unwrap_or_else(|| volume.grid.centre());
        Ok(*self.0.centre.get_or_init(|| centre))
    }

    /// The memory of the device that contains the voxels; `None` if the voxels are only in main memory.
    pub fn place(&self) -> Option<Place> {
        match &self.0.stored {
            Stored::Volume(_) => None,
            Stored::Device(held) => Some(held.place()),
        }
    }

    /// Smallest and largest value of the voxels, for an image on a device; `None` for an image in main memory.
    pub fn range(&self) -> Option<(f32, f32)> {
        match &self.0.stored {
            Stored::Volume(_) => None,
            Stored::Device(held) => Some(held.range),
        }
    }

    /// Returns the image as input for a backend: on the backend's device if the voxels are there, else in main memory.
    ///
    /// # Errors
    /// A device that fails.
    pub fn input<B: Backend>(&self, backend: &B) -> Result<Input<'_, B::Image>, Error> {
        if let Stored::Device(held) = &self.0.stored
            && held.place() == backend.place()
            && let Some(voxels) = held.any().downcast_ref()
        {
            return Ok(Input { grid: &held.grid, voxels: Voxels::Device(voxels) });
        }
        Ok(self.volume()?.as_ref().into())
    }
}

impl DeviceImage {
    fn place(&self) -> Place {
        with_backend!(&self.voxels, (backend, _) => backend.place())
    }

    fn any(&self) -> &dyn Any {
        with_backend!(&self.voxels, (_backend, voxels) => voxels)
    }

    fn volume(&self) -> Result<&Arc<Volume>, Error> {
        if let Some(volume) = self.volume.get() {
            return Ok(volume);
        }
        let voxels = with_backend!(&self.voxels, (backend, voxels) => backend.download(voxels))?;
        Ok(self.volume.get_or_init(|| Arc::new(Volume { grid: self.grid.clone(), voxels })))
    }
}

impl From<Arc<Volume>> for Image {
    fn from(volume: Arc<Volume>) -> Image {
        Image::of(Stored::Volume(content::without_missing(volume)))
    }
}

impl From<Volume> for Image {
    fn from(volume: Volume) -> Image {
        Arc::new(volume).into()
    }
}

impl Debug for Image {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({:?})", self.grid())
    }
}
