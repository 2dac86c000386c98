//! Results that only tests use; both devices have them outside the trait.

use antsreg_core::AffineTransform;
use antsreg_kernels::{Backend, Cpu, Cuda, Error, JointParameters};

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

    /// The determinants of `jacobian_summary`.
    fn jacobian_determinant(&self, field: &Self::Field, out: &mut Self::Image) -> Result<(), Error>;
}

macro_rules! inspected {
    ($($device:ty),*) => {$(
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

            fn jacobian_determinant(&self, field: &Self::Field, out: &mut Self::Image) -> Result<(), Error> {
                self.jacobian_determinant(field, out)
            }
        }
    )*};
}

inspected!(Cpu, Cuda);
