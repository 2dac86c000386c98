//! A scalar volume on the device, and its copy in a texture.

use std::sync::{Arc, Mutex, PoisonError};

use super::arrays::Texture;
use super::buffer::Buffer;
use super::device::Device;
use super::planes::planes;
use crate::Error;

/// A scalar volume on the device, x fastest.
pub struct Image {
    pub(super) shape: [usize; 3],
    pub(super) voxels: Buffer<f32>,
    /// The image's copy in a texture, created when an operation first reads the image as a texture. The copy is out of
    /// date after the image has been written.
    texture: Mutex<Option<Texture>>,
    /// The regions where the image is zero, computed when first needed and dropped when the image is written.
    backdrop: Mutex<Option<Arc<Backdrop>>>,
}

/// The backdrop of a moving image: for each cell of voxels, the distance to the nearest voxels that are not zero.
pub(super) struct Backdrop {
    /// For each cell (2×2×2 voxels of the moving image), the distance in cells to the nearest cell with a voxel that is
    /// not zero.
    pub(super) distance: Buffer<u16>,
    /// The bits of the image's largest absolute value, which is a float.
    pub(super) largest: Buffer<u32>,
}

/// The texture objects of an image, which differ in their interpolation.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextureObjects {
    /// Texture object that reads single voxels.
    pub(super) exact: u64,
    /// Texture object that interpolates trilinearly in the texture unit.
    pub(super) filtered: u64,
}

impl Image {
    pub(super) fn of(shape: [usize; 3], voxels: Buffer<f32>) -> Image {
        Image { shape, voxels, texture: Mutex::new(None), backdrop: Mutex::new(None) }
    }

    pub(super) fn uninitialised(device: &Arc<Device>, shape: [usize; 3]) -> Result<Image, Error> {
        Ok(Image::of(shape, planes(device, shape, 1, false)?))
    }

    pub(super) fn duplicate(&self) -> Result<Image, Error> {
        Ok(Image::of(self.shape, self.voxels.duplicate()?))
    }

    /// A copy of an image on the stream of `device`. The image may belong to another stream of the same device, if all
    /// work of that stream is done.
    pub(super) fn duplicate_on(&self, device: &Arc<Device>) -> Result<Image, Error> {
        Ok(Image::of(self.shape, Buffer::copy_of(device, &self.voxels)?))
    }

    /// The buffer with the voxels of the image, followed by padding, so that kernels may read beyond the last voxel.
    pub(super) fn voxels(&self) -> &Buffer<f32> {
        &self.voxels
    }

    /// Number of voxels of the image.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The address of the image's voxels, for reading.
    pub(super) fn read(&self) -> u64 {
        self.voxels.pointer()
    }

    /// The address of the image's voxels, for writing.
    pub(super) fn write(&mut self) -> u64 {
        if let Some(texture) = self.texture.get_mut().unwrap_or_else(PoisonError::into_inner) {
            texture.current = false;
        }
        *self.backdrop.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.voxels.pointer()
    }

    /// The image as a texture, updated if necessary.
    pub(super) fn texture(&self, device: &Arc<Device>) -> Result<TextureObjects, Error> {
        let mut texture = self.texture.lock().unwrap_or_else(PoisonError::into_inner);
        let texture = match &mut *texture {
            Some(texture) => texture,
            none => none.insert(Texture::new(device, self.shape)?),
        };
        texture.update(&self.voxels)?;
        Ok(TextureObjects { exact: texture.exact, filtered: texture.filtered })
    }

    /// The backdrop of the image: the regions where all voxels are zero. `make` computes it
    /// on the first call; it is kept until the image changes.
    pub(super) fn backdrop(&self, make: impl FnOnce() -> Result<Backdrop, Error>) -> Result<Arc<Backdrop>, Error> {
        let mut backdrop = self.backdrop.lock().unwrap_or_else(PoisonError::into_inner);
        match &*backdrop {
            Some(known) => Ok(known.clone()),
            None => Ok(backdrop.insert(Arc::new(make()?)).clone()),
        }
    }
}
