//! Results of a registration that stay in a device's memory and are lent to other libraries of the process.

use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// Kind of memory in which the images and fields of a backend lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Main memory.
    Main,
    /// Memory of the NVIDIA GPU with this number.
    Cuda(usize),
}

/// An array of single-precision numbers in a device's memory, which other libraries may read. All its numbers have been
/// computed, it is never changed, and it exists as long as a clone of this value.
#[derive(Clone)]
pub struct Lent {
    place: Place,
    address: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
    _memory: Arc<dyn Any + Send + Sync>,
}

impl Lent {
    /// Lends the displacement vectors of a field to another library: an array X×Y×Z×3 with three adjacent numbers for
    /// each voxel, x fastest. `address` is that of the first number, in the memory that `place` names.
    pub(crate) fn vectors(
        place: Place,
        address: usize,
        [x, y, z]: [usize; 3],
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Lent {
        Lent { place, address, shape: vec![x, y, z, 3], strides: vec![3, 3 * x, 3 * x * y, 1], _memory: memory }
    }

    /// Lends the voxels of an image to another library: an array X×Y×Z, x fastest. `address` is that of the first
    /// voxel, in the memory that `place` names.
    pub(crate) fn voxels(
        place: Place,
        address: usize,
        [x, y, z]: [usize; 3],
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Lent {
        Lent { place, address, shape: vec![x, y, z], strides: vec![1, x, x * y], _memory: memory }
    }

    /// Kind of memory in which the array lies.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The address of the array's first number.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Number of elements along each axis of the lent array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Strides of the lent array: for each axis, the distance in memory between neighbouring elements, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Lends the image of a slice as an array with two axes: removes the third axis of the array if that axis has one
    /// element.
    pub fn planar(mut self) -> Lent {
        if self.shape.get(2) == Some(&1) {
            self.shape.remove(2);
            self.strides.remove(2);
        }
        self
    }
}

impl Debug for Lent {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lent({:?} in {:?})", self.shape, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset in memory of the element `at`, in elements.
    fn offset(lent: &Lent, at: &[usize]) -> usize {
        assert_eq!(lent.shape().len(), at.len());
        lent.strides().iter().zip(at).map(|(stride, at)| stride * at).sum()
    }

    #[test]
    fn arrays_have_their_address_shape_and_strides() {
        let voxels = Lent::voxels(Place::Cuda(3), 0x7000, [5, 7, 11], Arc::new(()));
        assert_eq!(
            (voxels.place(), voxels.address(), voxels.shape()),
            (Place::Cuda(3), 0x7000, [5, 7, 11].as_slice())
        );
        assert_eq!(offset(&voxels, &[4, 2, 3]), 4 + 5 * (2 + 7 * 3));
        let vectors = Lent::vectors(Place::Main, 0x900, [5, 7, 11], Arc::new(()));
        assert_eq!((vectors.place(), vectors.address()), (Place::Main, 0x900));
        assert_eq!(vectors.shape(), [5, 7, 11, 3]);
        assert_eq!(offset(&vectors, &[4, 2, 3, 1]), 3 * (4 + 5 * (2 + 7 * 3)) + 1);
    }

    #[test]
    fn only_a_slice_loses_its_third_axis() {
        let lend =
            |shape| [Lent::voxels, Lent::vectors].map(|lend| lend(Place::Main, 64, shape, Arc::new(())).planar());
        let [voxels, vectors] = lend([5, 7, 1]);
        assert_eq!((voxels.shape(), voxels.strides()), ([5, 7].as_slice(), [1, 5].as_slice()));
        assert_eq!((vectors.shape(), vectors.strides()), ([5, 7, 3].as_slice(), [3, 15, 1].as_slice()));
        let [voxels, vectors] = lend([1, 7, 11]);
        assert_eq!((voxels.shape(), voxels.strides()), ([1, 7, 11].as_slice(), [1, 1, 7].as_slice()));
        assert_eq!((vectors.shape(), vectors.strides()), ([1, 7, 11, 3].as_slice(), [3, 3, 21, 1].as_slice()));
    }
}
