//! Errors of operations on a device.

use crate::JointParameters;

/// Why a whole-volume operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operand has another shape than the operation needs.
    #[error("{operation}: expected a volume of shape {expected:?}, found {found:?}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The shape that the operation needs.
        expected: [usize; 3],
        /// The shape of the operand.
        found: [usize; 3],
    },
    /// The length of a buffer differs from the number of values that its shape needs.
    #[error("{operation}: expected {expected} values, found {found}")]
    Length {
        /// The operation.
        operation: &'static str,
        /// Voxels of the shape.
        expected: usize,
        /// Values in the buffer.
        found: usize,
    },
    /// No CUDA driver can be opened.
    #[error("there is no CUDA driver: {reason}")]
    NoDriver {
        /// The system's reason.
        reason: &'static str,
    },
    /// The machine has no CUDA device with this number.
    #[error("there is no CUDA device {index}; this machine has {count}")]
    NoDevice {
        /// The number.
        index: usize,
        /// Number of devices.
        count: usize,
    },
    /// The device is too old for the kernels.
    #[error("{name} has compute capability {}.{}, at least {}.{} is needed", capability.0, capability.1, oldest.0, oldest.1)]
    TooOld {
        /// The device.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
        /// The oldest supported compute capability.
        oldest: (u32, u32),
    },
    /// The driver returned an error.
    #[error("{operation}: CUDA error {code} ({reason})")]
    Driver {
        /// The operation or kernel.
        operation: &'static str,
        /// The driver's code.
        code: u32,
        /// The driver's name and description of the error code.
        reason: String,
    },
    /// The device has too little memory.
    #[error("out of device memory: {requested} bytes were needed, {free} are free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes that were free.
        free: u64,
    },
    /// The volume is too large for the kernels, which address its bytes with 32 bits.
    #[error(
        "a volume of shape {shape:?} is too large for the device's kernels, which take up to {most} voxels, 4194304 along an axis"
    )]
    TooLarge {
        /// Its shape.
        shape: [usize; 3],
        /// Most voxels allowed.
        most: usize,
    },
    /// A compiled module lacks a kernel: the program was built wrongly.
    #[error("the kernel {kernel} is missing")]
    MissingKernel {
        /// Its name.
        kernel: &'static str,
    },
    /// The embedded code of kernels cannot be read: the program was built wrongly.
    #[error("the embedded code of kernels is damaged: {reason}")]
    BadCode {
        /// Why.
        reason: String,
    },
    /// More bins or voxels than the device can sort.
    #[error("bin_fixed: {bins} bins over a volume of shape {shape:?}; 1 to {most} bins and 2³² voxels are possible")]
    Bins {
        /// Bins asked for.
        bins: usize,
        /// Most bins allowed.
        most: usize,
        /// Shape of the volume.
        shape: [usize; 3],
    },
    /// A number of bins that mutual information does not support.
    #[error("mi_update: {bins} bins; {least} to {most} are possible")]
    MiBins {
        /// Bins asked for.
        bins: usize,
        /// Fewest bins allowed.
        least: usize,
        /// Most bins allowed.
        most: usize,
    },
    /// A joint histogram with too few or too many bins.
    #[error("joint_histogram: {fixed} × {moving} bins; {least} to {most} are possible on either side")]
    JointBins {
        /// Bins of the fixed image.
        fixed: usize,
        /// Bins of the moving image.
        moving: usize,
        /// Fewest bins allowed.
        least: usize,
        /// Most bins allowed.
        most: usize,
    },
    /// A block would need more shared memory than the device has per block.
    #[error("{operation}: a block would need {needed} bytes of shared memory, {most} are possible on this device")]
    SharedMemory {
        /// The kernel.
        operation: &'static str,
        /// Bytes needed.
        needed: usize,
        /// Shared memory that a block can have, bytes.
        most: usize,
    },
    /// A volume that is not among those of the call.
    #[error("fit_sums: volume {volume} of {count}, counted from 0")]
    Volume {
        /// Its number.
        volume: usize,
        /// Number of volumes.
        count: usize,
    },
    /// A window that the device's kernels do not support.
    #[error(
        "cc_update: radius {radius} with masks or the exact derivative; {least} to {most} are possible on this device"
    )]
    Radius {
        /// Radius asked for.
        radius: usize,
        /// Smallest radius allowed.
        least: usize,
        /// Largest radius allowed.
        most: usize,
    },
}

impl Error {
    /// Checks that an operand has this shape.
    pub(crate) fn check_shape(operation: &'static str, expected: [usize; 3], found: [usize; 3]) -> Result<(), Error> {
        if expected == found { Ok(()) } else { Err(Error::Shape { operation, expected, found }) }
    }

    /// Checks that operands have this shape.
    pub(crate) fn check_shapes(
        operation: &'static str,
        expected: [usize; 3],
        found: impl IntoIterator<Item = [usize; 3]>,
    ) -> Result<(), Error> {
        found.into_iter().try_for_each(|found| Error::check_shape(operation, expected, found))
    }

    /// Checks that the kernels support a joint histogram of this size.
    pub(crate) fn check_joint_bins(fixed: usize, moving: usize) -> Result<(), Error> {
        let possible = JointParameters::BINS;
        if possible.contains(&fixed) && possible.contains(&moving) {
            return Ok(());
        }
        Err(Error::JointBins { fixed, moving, least: *possible.start(), most: *possible.end() })
    }

    /// Checks that the length of a buffer fits the shape.
    pub(crate) fn check_length(operation: &'static str, shape: [usize; 3], found: usize) -> Result<(), Error> {
        let expected = shape.iter().product();
        if expected == found { Ok(()) } else { Err(Error::Length { operation, expected, found }) }
    }
}
