//! Every histogram scheme against one oracle in double precision, in single precision, through the texture unit, and of
//! values that are given: structure, uniform noise, and all voxels in one bin.

use antsreg_core::AffineTransform;
use antsreg_kernels::cuda::histograms::{
    CrScheme, CrSums, FixedVolume, Histograms, MiScheme, Order, Pair, Settings, Values,
};
use antsreg_kernels::{Cuda, Error};

use crate::Summary;
use crate::world::{Noise, World};

/// Fixed and moving values, and how they meet.
struct Case {
    name: &'static str,
    shape: [usize; 3],
    fixed: Vec<f32>,
    moving_shape: [usize; 3],
    moving: Vec<f32>,
    /// `None`: the moving values are given, one a voxel.
    map: Option<AffineTransform>,
    filtered: bool,
    edge: f64,
    bins: usize,
}

impl Case {
    fn all(world: &World) -> Vec<Case> {
        let voxels: usize = world.shape.iter().product();
        let mut noise = Noise(5);
        let mut uniform = || (0..voxels).map(|_| (0.5 + 0.5 * noise.next()) as f32).collect::<Vec<f32>>();
        let (fixed, moving) = (World::image(world.shape, 1), World::image(world.other_shape, 2));
        let sampled = |name, filtered, edge, bins| Case {
            name,
            shape: world.shape,
            fixed: fixed.clone(),
            moving_shape: world.other_shape,
            moving: moving.clone(),
            map: Some(world.map(0.15)),
            filtered,
            edge,
            bins,
        };
        let given = |name, fixed, moving, bins| Case {
            name,
            shape: world.shape,
            fixed,
            moving_shape: world.shape,
            moving,
            map: None,
            filtered: false,
            edge: 0.0,
            bins,
        };
        let mut cases = vec![
            given("uniform", uniform(), uniform(), 64),
            given("uniform", uniform(), uniform(), 2),
            given("uniform", uniform(), uniform(), 300),
            given("degenerate", vec![0.3; voxels], vec![0.7; voxels], 256),
            given("one fixed bin", vec![0.3; voxels], uniform(), 37),
        ];
        // A volume one voxel thin is all border.
        if world.other_shape.iter().all(|n| *n > 1) {
            cases.extend([
                sampled("sampled", false, 0.0, 256),
                sampled("sampled, ramp", false, 3.0, 64),
                sampled("sampled, ramp", false, 4.5, 1000),
                sampled("by texture", true, 2.0, 100),
            ]);
        }
        cases
    }

    fn values(&self) -> Values<'_> {
        match self.map {
            None => Values::Given(&self.moving),
            Some(fixed_to_moving) => Values::Sampled {
                shape: self.moving_shape,
                voxels: &self.moving,
                fixed_to_moving,
                filtered: self.filtered,
                edge_voxels: [self.edge; 3],
            },
        }
    }

    /// Weight and value of each fixed voxel, and how far its place is inside the moving volume.
    fn samples(&self) -> Vec<Sample> {
        let [nx, ny, _] = self.shape;
        let voxel = |at: usize| [at % nx, at / nx % ny, at / nx / ny];
        let sample = |at: usize| match &self.map {
            None => Sample { weight: 1.0, value: f64::from(self.moving[at]), inside: f64::INFINITY },
            Some(map) => self.sample(std::array::from_fn(|row| {
                (0..3).map(|column| map.matrix[(row, column)] * voxel(at)[column] as f64).sum::<f64>()
                    + map.translation[row]
            })),
        };
        (0..self.fixed.len()).map(sample).collect()
    }

    fn sample(&self, place: [f64; 3]) -> Sample {
        let last = self.moving_shape.map(|n| n as f64 - 1.0);
        let distance: [f64; 3] = std::array::from_fn(|axis| place[axis].min(last[axis] - place[axis]));
        let inside = distance.iter().copied().fold(f64::INFINITY, f64::min);
        let ramp = |distance: f64| if self.edge > 0.0 { (distance / self.edge).clamp(0.0, 1.0) } else { 1.0 };
        let weight = if inside < 0.0 { 0.0 } else { distance.map(ramp).iter().product() };
        let low = place.map(|at| at.max(0.0).floor() as usize);
        let mut value = 0.0;
        for corner in 0..8_usize {
            let step = [corner & 1, corner >> 1 & 1, corner >> 2];
            let share: f64 = (0..3)
                .map(|axis| {
                    let t = place[axis].clamp(0.0, last[axis]) - low[axis] as f64;
                    if step[axis] == 1 { t } else { 1.0 - t }
                })
                .product();
            let [x, y, z] = std::array::from_fn(|axis| (low[axis] + step[axis]).min(self.moving_shape[axis] - 1));
            let [nx, ny, _] = self.moving_shape;
            value += share * f64::from(self.moving[(z * ny + y) * nx + x]);
        }
        Sample { weight, value, inside }
    }
}

struct Sample {
    weight: f64,
    value: f64,
    inside: f64,
}

/// Coordinates are rounded at about 1e-5 voxel.
const COORDINATES: f64 = 1e-4;
/// A value's rounding, times a gradient of up to 2 a voxel.
const VALUES: f64 = 4e-5;
/// Weights of eight bits: each axis is off by up to 1/512 of the difference between neighbours.
const FILTER: f64 = 6e-3;

/// The bin in double precision, and the other one if the value is too near a border to tell.
fn bin_of(value: f64, values: &[f32], bins: usize, doubt: f64) -> (usize, Option<usize>) {
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if high <= low {
        return (0, None);
    }
    let per_unit = bins as f64 / f64::from(high - low);
    let clamp = |position: f64| position.max(0.0).min(bins as f64 - 1.0) as usize;
    let position = (value - f64::from(low)) * per_unit;
    let (bin, below, above) =
        (clamp(position), clamp(position - doubt * per_unit), clamp(position + doubt * per_unit));
    (bin, [below, above].into_iter().find(|other| *other != bin))
}

/// Everything the schemes are compared with.
struct Oracle {
    sums: CrSums,
    /// Voxels in each bin of the fixed volume.
    counted: Vec<f64>,
    joint: Vec<f64>,
    /// By how much each count may differ: voxels that rounding may put into another bin.
    doubtful: Vec<f64>,
    /// By how much each sum may differ: voxels that rounding may put outside.
    doubtful_inside: Vec<f64>,
}

impl Oracle {
    fn new(case: &Case, voxel_bins: &[u16]) -> Oracle {
        let bins = case.bins;
        let zeros = || vec![0.0; bins];
        let mut oracle = Oracle {
            sums: CrSums { weight: zeros(), sum: zeros(), square: zeros() },
            counted: zeros(),
            joint: vec![0.0; bins * bins],
            doubtful: vec![0.0; bins * bins],
            doubtful_inside: zeros(),
        };
        for (sample, bin) in case.samples().iter().zip(voxel_bins) {
            let fixed = usize::from(*bin);
            let sums = &mut oracle.sums;
            sums.weight[fixed] += sample.weight;
            sums.sum[fixed] += sample.weight * sample.value;
            sums.square[fixed] += sample.weight * sample.value * sample.value;
            let doubt = if case.filtered { FILTER } else { VALUES };
            let (moving, other) = bin_of(sample.value, &case.moving, bins, doubt);
            let at = fixed * bins + moving;
            // With a ramp, the weight on the border itself is 0 and does not count.
            if sample.weight > 0.0 {
                oracle.counted[fixed] += 1.0;
                oracle.joint[at] += 1.0;
            }
            if sample.inside.abs() < COORDINATES {
                oracle.doubtful_inside[fixed] += if case.edge > 0.0 { 0.0 } else { 1.0 };
                oracle.doubtful[at] += 1.0;
            }
            if let Some(other) = other {
                oracle.doubtful[at] += 1.0;
                let (from, to) = (moving.min(other), moving.max(other));
                (from..=to).for_each(|moving| oracle.doubtful[fixed * bins + moving] += 1.0);
            }
        }
        oracle
    }

    fn check_sums(&self, case: &Case, scheme: CrScheme, found: &CrSums) -> Option<String> {
        let planes =
            [(&self.sums.weight, &found.weight), (&self.sums.sum, &found.sum), (&self.sums.square, &found.square)];
        for (expected, found) in planes {
            if found.len() != expected.len() {
                return Some(format!("{} sums of {}", found.len(), expected.len()));
            }
            for (bin, (expected, found)) in expected.iter().zip(found).enumerate() {
                // A sum of n terms of one sign in single precision loses up to n halves of the last bit; blocks and merged
                // rows add up fewer terms at a time, but no fewer than a hundred.
                let terms = match scheme {
                    CrScheme::GlobalAtomic => self.counted[bin].max(100.0),
                    _ => self.counted[bin].clamp(100.0, 2000.0),
                };
                let values = if case.filtered { FILTER } else { VALUES };
                // Weights are as exact as coordinates, relative to a ramp of at least two voxels.
                let each = self.counted[bin] * (2.0 * values + 3.0 * COORDINATES);
                let allowed = terms * f64::from(f32::EPSILON) / 2.0 * expected + each + self.doubtful_inside[bin];
                let allowed =
                    if case.map.is_none() { terms * f64::from(f32::EPSILON) * expected + 1e-6 } else { allowed };
                // Weights and values in units of 2⁻¹⁶, each rounded: up to three halves of a unit a voxel.
                let units = if scheme == CrScheme::Slabs { self.counted[bin] * 1.5 / 65536.0 } else { 0.0 };
                if !((expected - found).abs() <= allowed + units) {
                    return Some(format!("bin {bin}: expected {expected}, found {found}, allowed {allowed:.2e}"));
                }
            }
        }
        None
    }

    fn check_counts(&self, found: &[u32]) -> Option<String> {
        if found.len() != self.joint.len() {
            return Some(format!("{} counts of {}", found.len(), self.joint.len()));
        }
        let wrong = |at: &usize| (self.joint[*at] - f64::from(found[*at])).abs() > self.doubtful[*at];
        (0..found.len()).find(wrong).map(|at| {
            let (expected, found, doubtful) = (self.joint[at], found[at], self.doubtful[at]);
            format!("counter {at}: expected {expected}, found {found}, of which {doubtful} doubtful")
        })
    }
}

/// Runs all schemes on all cases and adds to the summary.
pub fn check(cuda: &Cuda, worlds: &[World], summary: &mut Summary) -> Result<(), Error> {
    let histograms = Histograms::open(cuda)?;
    for world in worlds {
        for case in Case::all(world) {
            let volume = FixedVolume::new(case.shape, case.fixed.clone())?;
            let voxel_bins = volume.binned(case.bins);
            for (value, bin) in case.fixed.iter().zip(&voxel_bins) {
                let (expected, other) = bin_of(f64::from(*value), &case.fixed, case.bins, 1e-6);
                assert!(usize::from(*bin) == expected || Some(usize::from(*bin)) == other, "{value} in bin {bin}");
            }
            let oracle = Oracle::new(&case, &voxel_bins);
            let pair = histograms.pair(&volume, case.values(), case.bins)?;
            let mut note = |scheme: &str, values: usize, difference: Option<String>| {
                summary.compared += 1;
                summary.values += values;
                if let Some(difference) = difference {
                    summary.failed += 1;
                    println!("{:<14} {} {}: {scheme}: {difference}", world.name, case.name, case.bins);
                }
            };
            for (scheme, settings) in cr_settings() {
                match run_sums(&histograms, &pair, scheme, &settings) {
                    Ok((first, second)) => {
                        let again = scheme.deterministic() && first != second;
                        let again = again.then(|| "two runs gave different bits".to_owned());
                        let difference = again.or_else(|| oracle.check_sums(&case, scheme, &first));
                        note(scheme.name(), 3 * case.bins, difference);
                    }
                    // Many bins for every warp: refused, as the paper's curves end.
                    Err(Error::SharedMemory { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            for (scheme, settings, adapted) in mi_settings() {
                let mut previous = None;
                for _ in 0..if adapted { 2 } else { 1 } {
                    let mut plan = histograms.joint(&pair, scheme, &settings, previous.as_deref())?;
                    plan.run()?;
                    plan.run()?;
                    let counts = plan.joint()?;
                    note(scheme.name(), counts.len(), oracle.check_counts(&counts));
                    previous = Some(counts);
                }
            }
        }
    }
    refusals(&histograms, summary)
}

fn run_sums(
    histograms: &Histograms<'_>,
    pair: &Pair<'_>,
    scheme: CrScheme,
    settings: &Settings,
) -> Result<(CrSums, CrSums), Error> {
    let mut plan = histograms.correlation_ratio(pair, scheme, settings)?;
    plan.run()?;
    let first = plan.sums()?;
    plan.run()?;
    Ok((first, plan.sums()?))
}

/// Each scheme with the settings of the figures, and with others.
fn cr_settings() -> Vec<(CrScheme, Settings)> {
    let usual = Settings { blocks: Some(24), ..Settings::default() };
    let mut all: Vec<_> = CrScheme::ALL.map(|scheme| (scheme, usual)).into();
    all.extend([
        (CrScheme::SharedMerge, Settings { blocks: Some(3), threads: 1024, ..usual }),
        (CrScheme::SharedWarp, Settings { blocks: None, threads: 64, ..usual }),
        (CrScheme::ConflictFree, Settings { segment: 100, threads: 32, ..usual }),
        (CrScheme::ConflictFree, Settings { segment: 8192, order: Order::Bricks, ..usual }),
        (CrScheme::Tiled, Settings { blocks: None, ..usual }),
        (CrScheme::Tiled, Settings { blocks: Some(1), ..usual }),
        (CrScheme::Slabs, Settings { blocks: None, ..usual }),
        (CrScheme::Slabs, Settings { blocks: Some(1), ..usual }),
    ]);
    all
}

/// The last: whether a second histogram is made by the first.
fn mi_settings() -> Vec<(MiScheme, Settings, bool)> {
    let usual = Settings { blocks: Some(16), threads: 128, ..Settings::default() };
    let mut all: Vec<_> = MiScheme::ALL.map(|scheme| (scheme, usual, scheme == MiScheme::Adaptive)).into();
    all.extend([
        (MiScheme::WarpShadows, Settings { shared: 16 << 10, ..usual }, false),
        (MiScheme::SortCount, Settings { threads: 1024, blocks: Some(4), ..usual }, false),
        (MiScheme::Adaptive, Settings { shared: 1000, threads: 256, ..usual }, true),
        (MiScheme::ThreadShadows, Settings { threads: 32, shared: 200 << 10, ..usual }, false),
        (MiScheme::Slabs16, Settings { blocks: None, threads: 512, ..usual }, true),
        (MiScheme::Slabs32, Settings { blocks: None, threads: 256, ..usual }, true),
    ]);
    all
}

fn refusals(histograms: &Histograms<'_>, summary: &mut Summary) -> Result<(), Error> {
    let values = [0.0, 0.25, 0.5, 1.0];
    let volume = FixedVolume::new([2, 2, 1], values.to_vec())?;
    for (bins, possible) in [(0, false), (1, false), (2, true), (1024, true), (1025, false)] {
        summary.compared += 1;
        summary.values += 1;
        let refused =
            matches!(histograms.pair(&volume, Values::Given(&values), bins), Err(Error::HistogramBins { .. }));
        if refused == possible {
            summary.failed += 1;
            println!("{bins} bins: {}", if refused { "refused" } else { "not refused" });
        }
    }
    Ok(())
}
