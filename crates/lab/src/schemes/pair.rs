//! The input of a histogram algorithm on the device: the bins of the fixed voxels, and the moving values at these
//! voxels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use antsreg_core::AffineTransform;
use antsreg_kernels::cuda::Image;
use antsreg_kernels::cuda::extension::{Argument, Buffer};
use antsreg_kernels::ops::Memory;

use super::bricks::Emptiness;
use super::choice::Order;
use super::layout::{self, Size, Vector};
use super::{Histograms, check_bins, segments};
use crate::Error;

/// Kernel argument that describes the input of a histogram algorithm: fixed bins, moving image, and the affine map
/// between their voxels. The memory layout is that of the structure `Pair` in `cu/pair.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Operands {
    fixed: u64,
    moving: u64,
    texture: u64,
    source: i32,
    shape: Size,
    moving_shape: Size,
    per_edge: Vector,
    low: f32,
    scale: f32,
    bins: i32,
    map: [f32; 12],
}
impl Argument for Operands {}

/// How the kernels obtain moving values. The numbers of the variants are those of `GIVEN`, `EXACT` and `FILTERED` in
/// `cu/pair.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Given = 0,
    Exact = 1,
    Filtered = 2,
}

/// A fixed volume in main memory. Lists of its voxels, sorted by intensity, are computed when they are first needed.
pub struct FixedVolume {
    shape: [usize; 3],
    values: Vec<f32>,
    by_intensity: Mutex<Option<Arc<Vec<u32>>>>,
}

impl FixedVolume {
    /// Makes a fixed volume from the values of its voxels. The x index varies fastest.
    ///
    /// # Errors
    /// The number of values differs from the number of voxels of the shape.
    pub fn new(shape: [usize; 3], values: Vec<f32>) -> Result<FixedVolume, Error> {
        let expected = shape.iter().product();
        if values.len() != expected {
            return Err(Error::Voxels { shape, expected, found: values.len() });
        }
        Ok(FixedVolume { shape, values, by_intensity: Mutex::default() })
    }

    /// Number of voxels of the volume along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// The values of the volume's voxels.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The bin of each voxel: ⌊(value − low) · bins / (high − low)⌋ in single precision, clamped.
    pub fn binned(&self, bins: usize) -> Vec<u16> {
        let (low, scale) = binning(&self.values, bins);
        self.values.iter().map(|value| bin_of(*value, low, scale, bins)).collect()
    }

    fn sorted(&self, bins: &[u16], order: Order) -> Arc<Vec<u32>> {
        if order == Order::Bricks {
            return Arc::new(segments::sorted(self.shape, &self.values, bins, order));
        }
        let mut known = self.by_intensity.lock().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_with(|| Arc::new(segments::sorted(self.shape, &self.values, bins, order))).clone()
    }
}

/// Lower end of the range of `values`, and number of bins per unit of intensity.
fn binning(values: &[f32], bins: usize) -> (f32, f32) {
    let (low, high) = values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    (low, if high > low { bins as f32 / (high - low) } else { 0.0 })
}

fn bin_of(value: f32, low: f32, scale: f32, bins: usize) -> u16 {
    ((value - low) * scale).max(0.0).min((bins - 1) as f32) as u16
}

/// The values of the moving image at the fixed voxels, given or to be interpolated.
#[derive(Debug, Clone, Copy)]
pub enum Values<'v> {
    /// Given moving values, one for each fixed voxel.
    Given(&'v [f32]),
    /// Moving values that are interpolated trilinearly in a volume.
    Sampled {
        /// Number of voxels of the moving volume along each axis, at least two.
        shape: [usize; 3],
        /// Values, x fastest.
        voxels: &'v [f32],
        /// Affine map from fixed to moving voxel indices.
        fixed_to_moving: AffineTransform,
        /// Whether the texture unit interpolates, with weights of eight bits. Otherwise interpolation is in single
        /// precision.
        filtered: bool,
        /// Width of the zone at the moving volume's border in which the weights of the correlation ratio rise from 0 to
        /// 1, voxels. In joint histograms, every voxel inside the volume has weight 1.
        edge_voxels: [f64; 3],
    },
}

/// The bins of the fixed voxels of a volume, and the moving values at these voxels, on a device.
pub struct Pair<'f> {
    pub(super) volume: &'f FixedVolume,
    pub(super) bins: usize,
    pub(super) voxel_bins: Vec<u16>,
    pub(super) source: Source,
    pub(super) operands: Operands,
    /// 1 / (range of the moving values); 0 if all moving values are equal.
    pub(super) per_range: f32,
    /// The cells of 2×2×2 moving voxels in which the moving image has only its background value.
    pub(super) emptiness: Emptiness,
    sorted: Mutex<HashMap<Order, Sorted>>,
    _fixed: Buffer<u16>,
    _moving: Image,
}

/// Indices of the fixed voxels, sorted by intensity or by bin, on the host and on the device.
#[derive(Clone)]
pub(super) struct Sorted {
    pub(super) host: Arc<Vec<u32>>,
    pub(super) device: Arc<Buffer<u32>>,
}

impl Histograms<'_> {
    /// Uploads the data of a fixed and a moving image to the device. Each image has `bins` bins over the range of its
    /// values.
    pub fn pair<'f>(&self, fixed: &'f FixedVolume, moving: Values<'_>, bins: usize) -> Result<Pair<'f>, Error> {
        check_bins(bins)?;
        let voxel_bins = fixed.binned(bins);
        let buffer = self.cuda.holding(&voxel_bins)?;
        let (values, shape) = match moving {
            Values::Given(values) => (values, fixed.shape),
            Values::Sampled { voxels, shape, .. } => (voxels, shape),
        };
        let image = self.cuda.upload(shape, values)?;
        let (low, scale) = binning(values, bins);
        let mut operands = Operands {
            fixed: buffer.pointer(),
            moving: self.cuda.voxels_of(&image),
            texture: 0,
            source: 0,
            shape: Size::of(fixed.shape),
            moving_shape: Size::of(shape),
            per_edge: Vector([f32::INFINITY; 3]),
            low,
            scale,
            bins: bins as i32,
            map: [0.0; 12],
        };
        let mut source = Source::Given;
        if let Values::Sampled { fixed_to_moving, filtered, edge_voxels, .. } = moving {
            source = if filtered { Source::Filtered } else { Source::Exact };
            operands.texture = self.cuda.filtered_texture(&image)?;
            operands.per_edge = Vector(edge_voxels.map(|edge| (1.0 / edge) as f32));
            operands.map = layout::map(&fixed_to_moving);
        }
        operands.source = source as i32;
        let sorted = Mutex::default();
        let per_range = scale / bins as f32;
        Ok(Pair {
            volume: fixed,
            bins,
            voxel_bins,
            source,
            operands,
            per_range,
            emptiness: Emptiness::of(shape, values),
            sorted,
            _fixed: buffer,
            _moving: image,
        })
    }

    /// The sorted indices of the fixed voxels. They are computed when they are first needed.
    pub(super) fn sorted(&self, pair: &Pair<'_>, order: Order) -> Result<Sorted, Error> {
        let mut known = pair.sorted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sorted) = known.get(&order) {
            return Ok(sorted.clone());
        }
        let host = pair.volume.sorted(&pair.voxel_bins, order);
        let device = Arc::new(self.cuda.holding(&host)?);
        Ok(known.entry(order).or_insert(Sorted { host, device }).clone())
    }
}

impl Pair<'_> {
    /// Number of fixed voxels.
    pub fn voxels(&self) -> usize {
        self.voxel_bins.len()
    }

    /// Number of voxels in each fixed bin, and the bin with the most voxels.
    pub(super) fn in_bins(&self) -> (Vec<u32>, usize) {
        let mut voxels = vec![0; self.bins];
        self.voxel_bins.iter().for_each(|bin| voxels[usize::from(*bin)] += 1);
        let fullest = (0..self.bins).max_by_key(|bin| voxels[*bin]).unwrap_or(0);
        (voxels, fullest)
    }

    /// The bin, on the moving axis of the joint histogram, into which a value of the moving image falls.
    pub(super) fn moving_bin(&self, value: f32) -> usize {
        usize::from(bin_of(value, self.operands.low, self.operands.scale, self.bins))
    }

    /// Number of histogram bins of each image.
    pub fn bins(&self) -> usize {
        self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_lie_as_the_kernels_expect_them() {
        let at = [
            std::mem::offset_of!(Operands, source),
            std::mem::offset_of!(Operands, moving_shape),
            std::mem::offset_of!(Operands, low),
            std::mem::offset_of!(Operands, map),
            size_of::<Operands>(),
        ];
        assert_eq!(at, [24, 40, 64, 76, 128]);
    }
}
