//! Results that only tests use. Both backends offer them as methods outside the trait `Backend`.
#![expect(unsafe_code, reason = "lent arrays are known by their addresses")]

use antsreg_core::AffineTransform;
use antsreg_kernels::{Backend, Cpu, Cuda, Error, JointParameters, Lent};

/// A backend whose intermediate results can be compared.
pub trait Inspected: Backend {
    /// The joint histogram of `joint_entropies`.
    fn joint_histogram(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &AffineTransform,
    ) -> Result<Vec<u64>, Error>;

    /// The numbers of a lent array in the order of their memory addresses.
    fn numbers_of(&self, lent: &Lent) -> Result<Vec<f32>, Error>;

    /// The determinants of `jacobian_summary`.
    fn jacobian_determinant(&self, field: &Self::Field, out: &mut Self::Image) -> Result<(), Error>;
}

/// Number of elements of a lent array.
fn count(lent: &Lent) -> usize {
    lent.shape().iter().product()
}

fn of_cpu(_: &Cpu, lent: &Lent) -> Result<Vec<f32>, Error> {
    let address = std::ptr::with_exposed_provenance::<f32>(lent.address());
    // SAFETY: the array has as many numbers, and lives.
    Ok(unsafe { std::slice::from_raw_parts(address, count(lent)) }.to_vec())
}

fn of_cuda(cuda: &Cuda, lent: &Lent) -> Result<Vec<f32>, Error> {
    // SAFETY: as above, on the device.
    cuda.download(&unsafe { cuda.image_at([count(lent), 1, 1], lent.address() as u64) }?)
}

macro_rules! inspected {
    ($($device:ty, $numbers:ident);*) => {$(
        impl Inspected for $device {
            fn joint_histogram(
                &self,
                fixed: &Self::FixedBins,
                moving: &Self::Image,
                moving_weight: Option<&Self::Image>,
                edge_voxels: [f64; 3],
                parameters: &JointParameters,
                fixed_to_moving: &AffineTransform,
            ) -> Result<Vec<u64>, Error> {
                // This calls the inherent method, which has precedence.
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

inspected!(Cpu, of_cpu; Cuda, of_cuda);
