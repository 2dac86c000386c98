//! Measures Figure 19 of Li 2015: registrations at 1 mm by the correlation ratio, from a start near the optimum, with
//! several weighting distances (width of the zone at the image border where weights fall to 0). The figure shows the
//! difference between the images after the registration.

use antsreg_core::AffineTransform;
use antsreg_kernels::Cuda;
use antsreg_kernels::ops::{Memory, Similarity};
use nalgebra::{Matrix3, Point3, Vector3};

use super::plot::{Curve, Figure};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::Error;

/// Weighting distances to measure, voxels: the width of the zone at the image border where weights fall to 0.
const EDGES: [f64; 11] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 34.0, 44.0, 54.0, 64.0];
const BINS: usize = 256;
/// First and smallest step size of the optimiser for the elements of the affine transform's matrix. The optimiser
/// halves its step size, and ends when it is below the smallest. The step sizes of translations, in voxels, are
/// `LEVER_VOXELS` times these numbers.
const STEPS: [f64; 2] = [0.02, 0.0002];
const LEVER_VOXELS: f64 = 60.0;

/// Measures Figure 19 of Li 2015: the difference between the images after registration, as a function of the weighting
/// distance (width of the zone at the image border where weights fall to 0).
pub fn li_accuracy(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let (Some([fixed, moving]), Some(brain)) = (&setup.images, &setup.brain) else {
        return Err(Error::NoBrain { figure: "li-accuracy" });
    };
    let options = antsreg_linear::Options::default();
    let start = antsreg_linear::register(
        setup.cuda,
        fixed,
        moving,
        None,
        None,
        &options,
        antsreg_linear::Start::CentreOfMass,
        &mut (),
    )?;
    let start = moving.grid.world_to_voxel().after(&start.transform.after(&fixed.grid.voxel_to_world()));
    // Two curves are measured: the difference over the whole overlap, as in the paper, and over the part of the overlap
    // where the fixed image shows brain.
    let mut points = [Vec::new(), Vec::new()];
    for edge in EDGES {
        let found = minimise(setup.cuda, brain, edge, start)?;
        for (points, difference) in points.iter_mut().zip(differences(brain, &found)) {
            points.push((edge, difference));
        }
    }
    // The plotted error is the change relative to a weighting distance of 0, in %, because this change is far smaller
    // than the difference between two brains.
    let curve = |name: &str, points: Vec<(f64, f64)>| {
        let without = points.first().map_or(1.0, |point| point.1);
        let change = |(edge, difference): (f64, f64)| (edge, 100.0 * (difference / without - 1.0));
        Curve { name: format!("{name}, {without:.1}"), points: points.into_iter().map(change).collect() }
    };
    let [all, within] = points;
    let curves = vec![curve("overlap", all), curve("not 0", within)];
    let title = "Difference after registration, 12 degrees of freedom, 256 bins (Li 2015, Figure 19)".into();
    let (x, y) = ("weighting distance, voxels", "RMS difference: change relative to distance 0, %");
    Ok(vec![Figure { name: "li-accuracy", title, x, y, log: [false, false], curves }])
}

/// Minimises the cost over the 12 parameters of the affine map. Each iteration tries 24 changes of a single parameter
/// (each parameter up and down), and three lengths of a combination of all improving changes. The change with the
/// lowest cost is applied. If no change lowers the cost, the step size is halved.
fn minimise(cuda: &Cuda, brain: &Subject, edge: f64, start: AffineTransform) -> Result<AffineTransform, Error> {
    let fixed = cuda.upload(brain.fixed.shape(), brain.fixed.values())?;
    let moving = cuda.upload(brain.moving_shape, &brain.moving)?;
    let range = |values: &[f32]| {
        values
            .iter()
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
    };
    let bins = cuda.bin_fixed(&fixed, None, range(brain.fixed.values()), BINS)?;
    let costs = |maps: &[AffineTransform]| cuda.correlation_ratio(&bins, &moving, None, [edge; 3], maps);
    let centre = Vector3::from_fn(|axis, _| (brain.fixed.shape()[axis] as f64 - 1.0) / 2.0);
    let changed = |by: &[f64; 12], from: &AffineTransform| {
        let matrix = from.matrix + Matrix3::from_fn(|row, column| by[3 * row + column]);
        let image = from.matrix * centre + from.translation + Vector3::from_fn(|row, _| by[9 + row] * LEVER_VOXELS);
        AffineTransform { matrix, translation: image - matrix * centre }
    };
    let mut best = (start, costs(&[start])?[0]);
    let mut step = STEPS[0];
    while step >= STEPS[1] {
        let single: Vec<[f64; 12]> = (0..24)
            .map(|n| std::array::from_fn(|element| if element == n / 2 { step * [1.0, -1.0][n % 2] } else { 0.0 }))
            .collect();
        let maps: Vec<AffineTransform> = single.iter().map(|by| changed(by, &best.0)).collect();
        let found = costs(&maps)?;
        let mut together = [0.0; 12];
        for element in 0..12 {
            let signs = [found[2 * element], found[2 * element + 1]].map(|cost| (best.1 - cost).max(0.0));
            let largest = found.iter().map(|cost| best.1 - cost).fold(f64::MIN_POSITIVE, f64::max);
            together[element] = step * (signs[0] - signs[1]) / largest;
        }
        let all = [1.0, 0.5, 0.25].map(|share| changed(&together.map(|change| share * change), &best.0));
        let of_all = costs(&all)?;
        let candidates = maps.iter().zip(&found).chain(all.iter().zip(&of_all));
        match candidates.min_by(|a, b| a.1.total_cmp(b.1)) {
            Some((map, cost)) if *cost < best.1 - 1e-9 => best = (*map, *cost),
            _ => step /= 2.0,
        }
    }
    Ok(best.0)
}

/// Root-mean-square difference of the two images: over the overlap (Li 2015, eq. 5), and over the part of the overlap
/// where the fixed image is not 0.
fn differences(brain: &Subject, fixed_to_moving: &AffineTransform) -> [f64; 2] {
    let [nx, ny, _] = brain.fixed.shape();
    let mut sums = [[0.0_f64; 2]; 2];
    for (voxel, value) in brain.fixed.values().iter().enumerate() {
        let place = [voxel % nx, voxel / nx % ny, voxel / nx / ny].map(|index| index as f64);
        let sample = brain.sample_at(&fixed_to_moving.apply(&Point3::from(place)));
        if sample.inside >= 0.0 {
            let squared = (sample.value - f64::from(*value)).powi(2);
            for (sum, counts) in sums.iter_mut().zip([true, *value != 0.0]) {
                if counts {
                    *sum = [sum[0] + squared, sum[1] + 1.0];
                }
            }
        }
    }
    sums.map(|[sum, count]| (sum / count.max(1.0)).sqrt())
}
