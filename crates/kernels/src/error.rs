//! Errors of image operations on a device.

use crate::JointParameters;
use crate::bias::Histogram;

/// The reason why an operation of [`Backend`](crate::Backend) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument of an operation, such as an image or a field, has the wrong shape.
    #[error("{operation}: expected a volume of shape {expected:?}, found {found:?}")]
    Shape {
        /// Name of the operation that failed.
        operation: &'static str,
        /// The shape that the operation requires of the argument.
        expected: [usize; 3],
        /// The shape of the argument that was passed.
        found: [usize; 3],
    },
    /// The length of a buffer differs from the number of values that its shape requires.
    #[error("{operation}: expected {expected} values, found {found}")]
    Length {
        /// Name of the operation that failed.
        operation: &'static str,
        /// Number of values that a buffer of this shape must have.
        expected: usize,
        /// Number of values that the buffer has.
        found: usize,
    },
    /// A linear map along an axis is empty, or does not fit the values along the axis.
    #[error(
        "a linear map along an axis has {rows} rows for {length} values, which do not fit each other or the field"
    )]
    AxisMap {
        /// Number of rows of the map.
        rows: usize,
        /// Number of values along the axis.
        length: usize,
    },
    /// A curve of intensity has fewer than two points.
    #[error("a curve of intensity needs at least 2 points, found {found}")]
    Curve {
        /// Number of points of the curve.
        found: usize,
    },
    /// The CUDA driver cannot be opened.
    #[error("there is no CUDA driver: {reason}")]
    NoDriver {
        /// The reason why the CUDA driver library cannot be opened.
        reason: &'static str,
    },
    /// The machine has no CUDA device with this number.
    #[error("there is no CUDA device {index}: the devices are numbered from 0, and there are {count}")]
    NoDevice {
        /// Number of the device that was requested.
        index: usize,
        /// Number of CUDA devices of the machine.
        count: usize,
    },
    /// The device is too old for the kernels.
    #[error("{name} has compute capability {}.{}, at least {}.{} is needed", capability.0, capability.1, oldest.0, oldest.1)]
    TooOld {
        /// Name of the device.
        name: String,
        /// Compute capability of the device.
        capability: (u32, u32),
        /// The oldest compute capability that the kernels support.
        oldest: (u32, u32),
    },
    /// The CUDA driver returned an error.
    #[error("{operation}: CUDA error {code} ({reason})")]
    Driver {
        /// The operation or kernel in which the error occurred.
        operation: &'static str,
        /// The driver's error code.
        code: u32,
        /// The driver's name and description of the error code.
        reason: String,
    },
    /// The computer has too little free main memory for a volume.
    #[error("a volume {0}")]
    MainMemory(#[from] antsreg_core::memory::Shortage),
    /// The device has too little free memory.
    #[error("out of device memory: {requested} bytes were needed, {free} are free")]
    OutOfMemory {
        /// Number of bytes of device memory that were requested.
        requested: u64,
        /// Number of bytes of device memory that were free.
        free: u64,
    },
    /// The volume is too large for the kernels, which address its bytes with 32 bits.
    #[error(
        "a volume of shape {shape:?} is too large for the device's kernels, which process at most {most} voxels, and at most 4194304 along an axis"
    )]
    TooLarge {
        /// Shape of the volume.
        shape: [usize; 3],
        /// Largest number of voxels that the kernels support.
        most: usize,
    },
    /// A compiled module lacks a kernel: the program was built wrongly.
    #[error("this program lacks the GPU kernel {kernel}: it was built wrongly; build or install it again")]
    MissingKernel {
        /// Name of the kernel that is missing.
        kernel: &'static str,
    },
    /// The embedded code of kernels cannot be read: the program was built wrongly.
    #[error("the GPU kernels embedded in this program are damaged: {reason}; build or install it again")]
    BadCode {
        /// Reason why the embedded code of the kernels cannot be read.
        reason: String,
    },
    /// There are more bins or voxels than the device can sort.
    #[error(
        "bin_fixed: {bins} bins were requested for a volume of shape {shape:?}; 1 to {most} bins and at most 2³² voxels are possible"
    )]
    Bins {
        /// Number of histogram bins that was requested for the fixed image.
        bins: usize,
        /// Largest number of histogram bins of a fixed image that the device supports.
        most: usize,
        /// Shape of the fixed volume.
        shape: [usize; 3],
    },
    /// Mutual information does not support this number of bins.
    #[error("mi_gradient: mutual information with {bins} bins was requested; {least} to {most} bins are possible")]
    MiBins {
        /// Number of histogram bins for mutual information that was requested.
        bins: usize,
        /// Smallest number of histogram bins that mutual information supports.
        least: usize,
        /// Largest supported number of bins.
        most: usize,
    },
    /// A joint histogram would have too few or too many bins.
    #[error("joint_histogram: {fixed} × {moving} bins were requested; {least} to {most} are possible for each image")]
    JointBins {
        /// Number of bins of the fixed image that was requested for the joint histogram.
        fixed: usize,
        /// Number of bins of the moving image that was requested for the joint histogram.
        moving: usize,
        /// Smallest supported number of bins of an image.
        least: usize,
        /// Largest number of bins of an image that a joint histogram may have.
        most: usize,
    },
    /// A thread block would need more shared memory than the device allows.
    #[error(
        "{operation}: a thread block would need {needed} bytes of shared memory; this device allows at most {most}"
    )]
    SharedMemory {
        /// Name of the kernel.
        operation: &'static str,
        /// Shared memory that a thread block of the kernel would need, bytes.
        needed: usize,
        /// Shared memory that a block can have on this device, bytes.
        most: usize,
    },
    /// A fit of a volume was requested whose index is not below the number of volumes that were passed.
    #[error("fit_sums: there is no volume {volume}: the volumes are numbered from 0, and {count} were passed")]
    Volume {
        /// Index of the requested volume among those that were passed.
        volume: usize,
        /// Number of volumes that were passed to the operation.
        count: usize,
    },
    /// A position on an axis of a B-spline mesh is influenced by control points that do not exist, or by control points
    /// before those that influence the previous position.
    #[error(
        "bias_mesh: the four control points that influence position {place} on an axis begin at number {first}; \
         expected a first number of at least {least}, and all four numbers below {points}"
    )]
    Reach {
        /// Number of the position (sample or voxel) along the mesh axis.
        place: usize,
        /// Number of the first control point of the B-spline mesh that influences this position.
        first: usize,
        /// Number of the first control point that influences the position before this one; `first` must not be below
        /// it.
        least: usize,
        /// Number of control points of the axis.
        points: usize,
    },
    /// The requested histogram of N4, of logarithms of intensities, would have too few or too many bins.
    #[error(
        "bias_histogram: a histogram of {bins} bins was requested; {} to {} bins are possible",
        Histogram::BINS.start(),
        Histogram::BINS.end()
    )]
    BiasBins {
        /// Number of bins of N4's histogram that was requested.
        bins: usize,
    },
    /// A radius of joint label fusion is out of range.
    #[error("fusion_choices: the {what} radius is {radius}; {least} to {most} voxels are possible")]
    FusionRadius {
        /// Which radius: `patch` or `search`.
        what: &'static str,
        /// Radius that was requested, voxels.
        radius: usize,
        /// Smallest supported radius, voxels.
        least: usize,
        /// Largest supported radius, voxels.
        most: usize,
    },
    /// The kernels do not support windows of this radius.
    #[error(
        "cc_gradient: a window radius of {radius} voxels was requested; with masks or the exact derivative, \
         the tiled kernels of this device allow {least} to {most}"
    )]
    Radius {
        /// Radius of the window of the cross-correlation that was requested, voxels.
        radius: usize,
        /// Smallest window radius that the device supports here, voxels.
        least: usize,
        /// Largest window radius that the device supports here, voxels.
        most: usize,
    },
}

impl Error {
    /// Checks that an argument of an operation, such as an image or a field, has the expected shape.
    pub(crate) fn check_shape(operation: &'static str, expected: [usize; 3], found: [usize; 3]) -> Result<(), Error> {
        if expected == found { Ok(()) } else { Err(Error::Shape { operation, expected, found }) }
    }

    /// Checks that all arguments of an operation that are images or fields have the expected shape.
    pub(crate) fn check_shapes(
        operation: &'static str,
        expected: [usize; 3],
        found: impl IntoIterator<Item = [usize; 3]>,
    ) -> Result<(), Error> {
        found.into_iter().try_for_each(|found| Error::check_shape(operation, expected, found))
    }

    /// Checks that a curve of intensity has at least two points, and returns the index of the last point.
    pub(crate) fn check_curve(curve: &[f32]) -> Result<usize, Error> {
        let found = curve.len();
        if found < 2 { Err(Error::Curve { found }) } else { Ok(found - 1) }
    }

    /// Checks that the kernels support a joint histogram of this size.
    pub(crate) fn check_joint_bins(fixed: usize, moving: usize) -> Result<(), Error> {
        let possible = JointParameters::BINS;
        if possible.contains(&fixed) && possible.contains(&moving) {
            return Ok(());
        }
        Err(Error::JointBins { fixed, moving, least: *possible.start(), most: *possible.end() })
    }

    /// Checks that a histogram of logarithms may have this number of bins.
    pub(crate) fn check_bias_bins(bins: usize) -> Result<(), Error> {
        if Histogram::BINS.contains(&bins) { Ok(()) } else { Err(Error::BiasBins { bins }) }
    }

    /// Checks that the length of a buffer is the number of voxels of a shape.
    pub(crate) fn check_length(operation: &'static str, shape: [usize; 3], found: usize) -> Result<(), Error> {
        let expected = shape.iter().product();
        if expected == found { Ok(()) } else { Err(Error::Length { operation, expected, found }) }
    }
}
