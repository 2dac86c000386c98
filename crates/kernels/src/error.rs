//! What can go wrong on a device.

use crate::JointParameters;

/// A whole-volume operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two operands do not have the shape the operation needs.
    #[error("{operation}: expected a volume of shape {expected:?}, found {found:?}")]
    Shape {
        /// The operation that refused.
        operation: &'static str,
        /// The shape it needs.
        expected: [usize; 3],
        /// The shape it was given.
        found: [usize; 3],
    },
    /// A buffer does not fill its shape.
    #[error("{operation}: expected {expected} values, found {found}")]
    Length {
        /// The operation that refused.
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
    /// The machine has no such CUDA device.
    #[error("there is no CUDA device {index}; this machine has {count}")]
    NoDevice {
        /// The device that was asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The kernels do not run on this device.
    #[error("{name} has compute capability {}.{}, at least {}.{} is needed", capability.0, capability.1, oldest.0, oldest.1)]
    TooOld {
        /// The device.
        name: String,
        /// What it has.
        capability: (u32, u32),
        /// What it would need.
        oldest: (u32, u32),
    },
    /// The driver refused or failed.
    #[error("{operation}: CUDA error {code} ({reason})")]
    Driver {
        /// The operation or kernel.
        operation: &'static str,
        /// The driver's code.
        code: u32,
        /// The driver's name and text for it.
        reason: String,
    },
    /// The device has too little memory.
    #[error("out of device memory: {requested} bytes were needed, {free} are free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes that were free then.
        free: u64,
    },
    /// Kernels address the bytes of a volume with 32 bits.
    #[error(
        "a volume of shape {shape:?} is too large for the device's kernels, which take up to {most} voxels, 4194304 along an axis"
    )]
    TooLarge {
        /// Its shape.
        shape: [usize; 3],
        /// The most voxels there can be.
        most: usize,
    },
    /// A compiled module lacks a kernel: the program was put together wrongly.
    #[error("the kernel {kernel} is missing")]
    MissingKernel {
        /// Its name.
        kernel: &'static str,
    },
    /// The embedded code of kernels cannot be read: the program was put together wrongly.
    #[error("the embedded code of kernels is damaged: {reason}")]
    BadCode {
        /// Why.
        reason: String,
    },
    /// More bins or voxels than can be sorted on the device.
    #[error("bin_fixed: {bins} bins over a volume of shape {shape:?}; 1 to {most} bins and 2³² voxels are possible")]
    Bins {
        /// Bins asked for.
        bins: usize,
        /// The most there can be.
        most: usize,
        /// Shape of the volume.
        shape: [usize; 3],
    },
    /// Bins that a joint histogram cannot have.
    #[error("mi_update: {bins} bins; {least} to {most} are possible")]
    MiBins {
        /// Bins asked for.
        bins: usize,
        /// The fewest there can be.
        least: usize,
        /// The most there can be.
        most: usize,
    },
    /// A joint histogram with too few bins or too many.
    #[error("joint_histogram: {fixed} × {moving} bins; {least} to {most} are possible on either side")]
    JointBins {
        /// Bins of the fixed image.
        fixed: usize,
        /// Bins of the moving image.
        moving: usize,
        /// Fewest possible.
        least: usize,
        /// Most possible.
        most: usize,
    },
    /// A block would need more shared memory than it can have.
    #[error("{operation}: a block would need {needed} bytes of shared memory, {most} are possible on this device")]
    SharedMemory {
        /// The kernel.
        operation: &'static str,
        /// Bytes needed.
        needed: usize,
        /// Bytes a block can have.
        most: usize,
    },
    /// A window that the device's kernels do not cover.
    #[error(
        "cc_update: radius {radius} with masks or the exact derivative; {least} to {most} are possible on this device"
    )]
    Radius {
        /// Radius asked for.
        radius: usize,
        /// The smallest there is.
        least: usize,
        /// The largest there is.
        most: usize,
    },
}

impl Error {
    /// Refuses an operand of another shape.
    pub(crate) fn check_shape(operation: &'static str, expected: [usize; 3], found: [usize; 3]) -> Result<(), Error> {
        if expected == found { Ok(()) } else { Err(Error::Shape { operation, expected, found }) }
    }

    /// Refuses operands of another shape.
    pub(crate) fn check_shapes(
        operation: &'static str,
        expected: [usize; 3],
        found: impl IntoIterator<Item = [usize; 3]>,
    ) -> Result<(), Error> {
        found.into_iter().try_for_each(|found| Error::check_shape(operation, expected, found))
    }

    /// Refuses a joint histogram of a size that the kernels do not cover.
    pub(crate) fn check_joint_bins(fixed: usize, moving: usize) -> Result<(), Error> {
        let possible = JointParameters::BINS;
        if possible.contains(&fixed) && possible.contains(&moving) {
            return Ok(());
        }
        Err(Error::JointBins { fixed, moving, least: *possible.start(), most: *possible.end() })
    }

    /// Refuses a buffer whose length does not fill the shape.
    pub(crate) fn check_length(operation: &'static str, shape: [usize; 3], found: usize) -> Result<(), Error> {
        let expected = shape.iter().product();
        if expected == found { Ok(()) } else { Err(Error::Length { operation, expected, found }) }
    }
}
