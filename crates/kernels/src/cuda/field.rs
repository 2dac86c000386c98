//! Displacement fields on the device: three planes, one per component, so that neighbouring threads read neighbouring
//! floats.

use std::sync::Arc;

use super::buffer::Buffer;
use super::device::Device;
use super::planes::{plane, planes};
use crate::Error;

/// A displacement field on the device: displacements in voxels, with one plane of memory per component.
pub struct Field {
    pub(super) shape: [usize; 3],
    /// Memory of the displacements of this field. Fields that were allocated together share one memory.
    components: Arc<Buffer<f32>>,
    /// Index of this field among the displacement fields whose memory was allocated together.
    number: usize,
}

impl Field {
    /// A field of zero displacements.
    pub(super) fn zeroed(device: &Arc<Device>, shape: [usize; 3]) -> Result<Field, Error> {
        Ok(Field { shape, components: Arc::new(planes(device, shape, 3, true)?), number: 0 })
    }

    /// Two fields; the planes of the second field directly follow the planes of the first field in memory.
    pub(super) fn pair(device: &Arc<Device>, shape: [usize; 3]) -> Result<[Field; 2], Error> {
        let components = Arc::new(planes(device, shape, 6, true)?);
        Ok([0, 1].map(|number| Field { shape, components: components.clone(), number }))
    }

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
