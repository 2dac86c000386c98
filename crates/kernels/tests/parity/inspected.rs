//! Intermediate results that only tests need. Both backends offer these results as methods outside the trait `Backend`.
#![expect(unsafe_code, reason = "lent arrays are known by their addresses")]

use antsreg_core::AffineTransform;
use antsreg_kernels::bias::BiasBackend;
use antsreg_kernels::fusion::FusionBackend;
use antsreg_kernels::ops::{Memory, Similarity};
use antsreg_kernels::{Cpu, Cuda, Error, JointParameters, Lent};

/// A backend whose intermediate results can be read and compared.
pub trait Inspected: BiasBackend + FusionBackend {
    /// The joint histogram from which `joint_entropies` computes the entropies.
    fn joint_histogram(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &AffineTransform,
    ) -> Result<Vec<u64>, Error>;

    /// The correlation ratio with interpolation by the texture unit, if there is one.
    fn correlation_ratio_filtered(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        self.correlation_ratio(fixed, moving, moving_weight, edge_voxels, fixed_to_moving)
    }

    /// The numbers of an array that was lent to another library, in the order of their memory addresses.
    fn numbers_of(&self, lent: &Lent) -> Result<Vec<f32>, Error>;

    /// The Jacobian determinants from which `jacobian_summary` computes its statistics.
    fn jacobian_determinant(&self, field: &Self::Field, out: &mut Self::Image) -> Result<(), Error>;
}

/// Number of elements of an array that was lent to another library.
fn count(lent: &Lent) -> usize {
    lent.shape().iter().product()
}

fn of_cpu(_: &Cpu, lent: &Lent) -> Result<Vec<f32>, Error> {
    let address = std::ptr::with_exposed_provenance::<f32>(lent.address());
    // SAFETY: the address is that of the lent array, which has `count(lent)` numbers and exists as long as `lent`.
    Ok(unsafe { std::slice::from_raw_parts(address, count(lent)) }.to_vec())
}

fn of_cuda(cuda: &Cuda, lent: &Lent) -> Result<Vec<f32>, Error> {
    // SAFETY: the address is that of the lent array in device memory, which has `count(lent)` numbers and exists as
    // long as `lent`.
    cuda.download(&unsafe { cuda.image_at([count(lent), 1, 1], lent.address() as u64) }?)
}

macro_rules! inspected {
    ($($device:ty, $numbers:ident, { $($more:item)* });*) => {$(
        impl Inspected for $device {
            $($more)*

            fn joint_histogram(
                &self,
                fixed: &Self::FixedBins,
                moving: &Self::Image,
                moving_weight: Option<&Self::Image>,
                edge_voxels: [f64; 3],
                parameters: &JointParameters,
                fixed_to_moving: &AffineTransform,
            ) -> Result<Vec<u64>, Error> {
                // This is not a recursion: the type has a method of its own with the same name, which is called instead
                // of this method of the trait.
                self.joint_histogram(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
            }

            fn numbers_of(&self, lent: &Lent) -> Result<Vec<f32>, Error> {
                $numbers(self, lent)
            }

            fn jacobian_determinant(&self, field: &Self::Field, out: &mut Self::Image) -> Result<(), Error> {
                self.jacobian_determinant(field, out)
            }
        }
    )*};
}

inspected!(Cpu, of_cpu, {}; Cuda, of_cuda, {
    fn correlation_ratio_filtered(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        self.filter_by_texture(true);
        let costs = self.correlation_ratio(fixed, moving, moving_weight, edge_voxels, fixed_to_moving);
        self.filter_by_texture(false);
        costs
    }
});
