//! Estimates a bias field by iterations. An iteration subtracts the present field from the logarithms of the
//! intensities and sharpens the histogram of these differences. Then it fits a B-spline to the residuals (the
//! differences before minus after sharpening), and adds the B-spline to the field.

use antsreg_core::Volume;
use antsreg_kernels::bias::{BiasBackend, MeshAxis, Samples as OnDevice, Sharpened};
use antsreg_register::{Computation, Device};

use super::field::{BiasField, LevelOutcome};
use super::lattice::Lattice;
use super::samples::Samples;
use super::sharpen::Sharpener;
use super::shrink::Geometries;
use super::{Error, Options};

/// Largest number of control points that is supported for the finest B-spline mesh of a bias field.
const MOST_POINTS: usize = 1 << 24;

/// Estimates the bias field of an image from the voxels inside a mask (above 0), or from all voxels if there is no
/// mask. `weights` are the voxels' weights in the fit. `geometries`, if given, make the samples those of ANTs: where a
/// sample lies half-way between two voxels, ITK's rounding errors decide, which depend on the headers of the files.
/// Without `geometries`, half a voxel is rounded up. The result has the same bits on every device.
///
/// # Errors
/// An option is out of its range; the mask or the weights have another shape than the image; no voxel can be used, or
/// all used voxels have the same intensity; the device fails.
pub fn estimate(
    image: &Volume,
    mask: Option<&Volume>,
    weights: Option<&Volume>,
    geometries: Option<&Geometries>,
    options: &Options,
    device: &Device,
) -> Result<BiasField, Error> {
    options.check()?;
    let samples = Samples::of(image, mask, weights, geometries, options)?;
    let elements = samples.axes.map(|axis| axis.elements);
    let finest = elements.map(|n| n << (options.iterations.len() - 1));
    let most = finest.iter().try_fold(1_usize, |product, n| product.checked_mul(n + 3)).unwrap_or(usize::MAX);
    if most > MOST_POINTS {
        return Err(Error::Mesh { found: most, most: MOST_POINTS });
    }
    device.run(Estimation { samples: &samples, options, elements })
}

/// Estimation of a bias field on one device, level by level. The B-spline mesh of the coarsest level has `elements`
/// elements along the axes.
struct Estimation<'a> {
    samples: &'a Samples,
    options: &'a Options,
    elements: [usize; 3],
}

impl Computation for Estimation<'_> {
    type Output = BiasField;
    type Error = Error;

    fn run<B: BiasBackend>(self, backend: &B) -> Result<BiasField, Error> {
        let Estimation { samples, options, elements } = self;
        let sharpener = Sharpener::new(options);
        let logarithms = backend.upload(samples.shape(), &samples.logarithms)?;
        let weights = backend.upload(samples.shape(), &samples.weights)?;
        let on_device = OnDevice { logarithms: &logarithms, weights: &weights };
        let mut left = backend.copy(&logarithms)?;
        let mut histogram = backend.bias_histogram(&left, &weights, options.bins)?;
        let mut total = Lattice::zeros(elements);
        let mut levels = Vec::new();
        for (level, iterations) in options.iterations.iter().enumerate() {
            if level > 0 {
                total = total.refined();
            }
            let mut mesh = backend.bias_mesh(&weights, &mesh_axes(samples, &total)?, &total.values)?;
            let mut reached = LevelOutcome { iterations: 0, change: f64::INFINITY };
            while reached.iterations < *iterations && reached.change > options.threshold {
                let (low, width) = (histogram.low, histogram.width());
                if width.is_nan() || width <= 0.0 {
                    return Err(Error::Constant { voxels: samples.count });
                }
                let expected = sharpener.expectation(&histogram.counts(), low, width);
                let sharpened = Sharpened { low, width, expected: &expected };
                let step = backend.bias_step(on_device, &sharpened, &mut mesh, &mut left)?;
                reached.change = variation(step.changes, samples.count);
                reached.iterations += 1;
                histogram = step.histogram;
            }
            total.values = backend.bias_field(&mesh)?;
            levels.push(reached);
        }
        Ok(BiasField { axes: samples.axes, lattice: total, levels })
    }
}

/// Returns, for each axis of the image, which control points of the lattice influence each sample along this axis.
fn mesh_axes(samples: &Samples, lattice: &Lattice) -> Result<[MeshAxis; 3], Error> {
    let [x, y, z] = [0, 1, 2]
        .map(|axis| MeshAxis::new(samples.along[axis].reaches(lattice.elements[axis]), lattice.points()[axis]));
    Ok([x?, y?, z?])
}

/// Returns the coefficient of variation of the ratio of the field's factors before and after an iteration. `sum` and
/// `squares` are the sums of the relative changes of `count` samples, and of their squares.
fn variation([sum, squares]: [f64; 2], count: usize) -> f64 {
    let count = count as f64;
    let mean = sum / count;
    let variance = (squares - count * mean * mean).max(0.0) / (count - 1.0).max(1.0);
    variance.sqrt() / (1.0 + mean)
}
