//! Runs the operations of N4, so that their results can be compared between devices.

use antsreg_kernels::Error;
use antsreg_kernels::bias::{BiasBackend, Histogram, MeshAxis, Reach, Samples, Sharpened, Step};

use crate::operations::{EXACT, Outcomes};
use crate::world::World;

/// Makes an axis of a mesh of cubic B-splines. The first and the last of its `places` samples are at the ends of the
/// mesh.
fn axis(places: usize, elements: usize) -> Result<MeshAxis, Error> {
    let reach = |place: usize| {
        let at = elements as f64 * place as f64 / (places - 1).max(1) as f64;
        let first = (at as usize).min(elements - 1);
        let t = at - first as f64;
        let s = 1.0 - t;
        let weights = [
            s * s * s / 6.0,
            (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
            (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
            t * t * t / 6.0,
        ];
        Reach { first, weights }
    };
    MeshAxis::new((0..places).map(reach).collect(), elements + 3)
}

fn axes(shape: [usize; 3], elements: [usize; 3]) -> Result<[MeshAxis; 3], Error> {
    let [x, y, z] = [0, 1, 2].map(|n| axis(shape[n], elements[n]));
    Ok([x?, y?, z?])
}

fn numbers(histogram: &Histogram) -> Vec<f64> {
    [histogram.low, histogram.high].into_iter().chain(histogram.shares.iter().map(|share| *share as f64)).collect()
}

/// A test table in place of N4's own: for each bin of a histogram, the expected logarithm without shading. It differs
/// little from the logarithm in the middle of the bin.
fn table(histogram: &Histogram) -> Vec<f64> {
    let middle = |n: usize| histogram.low + n as f64 * histogram.width();
    (0..histogram.shares.len()).map(|n| middle(n) + 0.05 * (0.37 * n as f64).sin()).collect()
}

/// Runs iterations of N4 on meshes of different sizes, then computes the exponential of the field at every voxel and
/// divides an image by it.
pub fn bias<B: BiasBackend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let (backend, shape) = (out.backend, world.shape);
    let values: Vec<f32> = World::image(shape, 31).iter().map(|value| 4.0 + 2.0 * value).collect();
    let logarithms = backend.upload(shape, &values)?;
    let halves: Vec<f32> = World::mask(shape, 37).iter().map(|w| if *w > 0.4 { *w } else { 0.0 }).collect();
    for (name, weights) in [("", vec![1.0; values.len()]), (", weighted", halves)] {
        let weights = backend.upload(shape, &weights)?;
        let samples = Samples { logarithms: &logarithms, weights: &weights };
        for (elements, bins) in [([1, 1, 1], 200), ([2, 3, 1], 33), ([8, 8, 8], 200), ([37, 5, 12], 20_000)] {
            let title = |what: &str| format!("bias {what} {elements:?}, {bins} bins{name}");
            let axes = axes(shape, elements)?;
            let points: usize = elements.iter().map(|n| n + 3).product();
            let field: Vec<f64> = (0..points).map(|n| 0.1 * (1.7 * n as f64).sin()).collect();
            let mut left = backend.copy(&logarithms)?;
            let mut histogram = backend.bias_histogram(&left, &weights, bins)?;
            out.values(title("histogram"), EXACT, numbers(&histogram));
            let mut mesh = backend.bias_mesh(&weights, &axes, &field)?;
            for _ in 0..3 {
                let expected = table(&histogram);
                let sharpened = Sharpened { low: histogram.low, width: histogram.width(), expected: &expected };
                let step = backend.bias_step(samples, &sharpened, &mut mesh, &mut left)?;
                let Step { changes, histogram: next } = step;
                out.values(title("changes"), EXACT, changes.into());
                out.values(title("histogram after"), EXACT, numbers(&next));
                out.image(title("left"), EXACT, &left)?;
                histogram = next;
            }
            let field = backend.bias_field(&mesh)?;
            out.values(title("field"), EXACT, field.clone());
            let mut image = backend.image(shape)?;
            backend.bias_factors(&axes, &field, &mut image)?;
            out.image(title("factors"), EXACT, &image)?;
            let mut image = backend.upload(shape, &values)?;
            backend.bias_divide(&axes, &field, &mut image)?;
            out.image(title("divide"), EXACT, &image)?;
        }
    }
    let nothing = backend.image(shape)?;
    let found = backend.bias_histogram(&logarithms, &nothing, 20)?;
    out.values("bias histogram of nothing", EXACT, found.shares.iter().map(|share| *share as f64).collect());
    Ok(())
}
