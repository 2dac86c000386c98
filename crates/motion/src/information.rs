//! Refinement of an alignment by normalised mutual information (Studholme et al. 1999).

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::{Backend, JointParameters, JointSampling};

use crate::Error;
use crate::aligned::Aligned;
use crate::generators::Generators;

/// Number of intensity bins of the joint histogram along the reference's axis, and along the volume's axis.
const BINS: usize = 32;
/// The histogram bins of an image cover the intensities between these two quantiles of the image.
const SHARES: [f64; 2] = [0.001, 0.999];
/// Longest and shortest step of the finite differences by which the mutual information is differentiated, in mm of
/// movement at 50 mm from the centre. The third number is the factor that shortens the step after an iteration that
/// does not improve the mutual information.
const FIRST_MM: f64 = 0.6;
const LAST_MM: f64 = 0.1;
const FINER: f64 = 0.5;
/// Largest number of iterations of the search. An iteration evaluates the finite differences and then a Newton step.
const ROUNDS: usize = 12;
/// Fractions of the Newton step at which the mutual information is evaluated; the best fraction is taken.
const LENGTHS: [f64; 3] = [1.0, 0.5, 0.25];

/// The reference volume with its voxels sorted into intensity bins, as the fixed image of joint histograms.
pub(crate) struct Binned<B: Backend> {
    bins: B::FixedBins,
    voxel_to_world: AffineTransform,
}

impl<B: Backend> Binned<B> {
    /// Sorts the voxels of the smoothed reference into intensity bins.
    pub fn new(device: &B, smooth: &Volume) -> Result<Binned<B>, Error> {
        let image = device.upload(smooth.grid.shape, &smooth.voxels)?;
        let range = range(device, &image)?;
        let bins = device.bin_fixed(&image, None, range, BINS)?;
        Ok(Binned { bins, voxel_to_world: smooth.grid.voxel_to_world() })
    }
}

/// A smoothed volume with its intensity range, as the moving image of joint histograms.
pub(crate) struct Moving<B: Backend> {
    image: B::Image,
    range: (f32, f32),
}

impl<B: Backend> Moving<B> {
    /// Finds the range of intensities of the volume that the histogram bins cover.
    pub fn new(device: &B, image: B::Image) -> Result<Moving<B>, Error> {
        let range = range(device, &image)?;
        Ok(Moving { image, range })
    }
}

fn range<B: Backend>(device: &B, image: &B::Image) -> Result<(f32, f32), Error> {
    device.quantiles(image, SHARES[0], SHARES[1])?.low_high.ok_or(Error::Constant)
}

/// Moves the transform of a volume to a nearby maximum of the normalised mutual information. `world_to_voxel` maps RAS
/// mm to voxels of the volume.
///
/// The search makes Newton steps with finite differences along each parameter. After a step that does not improve the
/// mutual information, the differences are taken over a shorter distance.
pub(crate) fn refine<B: Backend>(
    device: &B,
    generators: &Generators,
    fixed: &Binned<B>,
    moving: &Moving<B>,
    world_to_voxel: &AffineTransform,
    found: Aligned,
) -> Result<Aligned, Error> {
    let count = generators.len();
    let parameters = JointParameters { sampling: JointSampling::Trilinear, bins: BINS, low_high: moving.range };
    let mut transform = found.transform;
    let costs = |transform: &AffineTransform, steps: &[Vec<f64>]| -> Result<Vec<f64>, Error> {
        let place = |step: &Vec<f64>| {
            world_to_voxel.after(transform).after(&generators.map(step)).after(&fixed.voxel_to_world)
        };
        let maps: Vec<AffineTransform> = steps.iter().map(place).collect();
        let all = device.joint_entropies(&fixed.bins, &moving.image, None, [1.0; 3], &parameters, &maps)?;
        Ok(all.iter().map(|entropies| 2.0 - entropies.normalised_mutual_information()).collect())
    };
    let mut distance = FIRST_MM;
    let mut lowest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let along = |axis: usize, step: f64| (0..count).map(|n| if n == axis { step } else { 0.0 }).collect();
        let around: Vec<Vec<f64>> = [vec![0.0; count]]
            .into_iter()
            .chain((0..count).flat_map(|axis| [along(axis, distance), along(axis, -distance)]))
            .collect();
        let at = costs(&transform, &around)?;
        lowest = at[0];
        let newton: Vec<f64> = (0..count)
            .map(|axis| {
                let (up, down) = (at[1 + 2 * axis], at[2 + 2 * axis]);
                let (slope, curvature) = ((up - down) / 2.0, up + down - 2.0 * at[0]);
                let step = if curvature > 0.0 { -slope / curvature } else { -slope.signum() };
                distance * step.clamp(-1.0, 1.0)
            })
            .collect();
        let tried: Vec<Vec<f64>> =
            LENGTHS.iter().map(|length| newton.iter().map(|step| step * length).collect()).collect();
        let tried_costs = costs(&transform, &tried)?;
        let best = (0..LENGTHS.len()).fold(0, |best, n| if tried_costs[n] < tried_costs[best] { n } else { best });
        if tried_costs[best] < lowest {
            lowest = tried_costs[best];
            transform = transform.after(&generators.map(&tried[best]));
        } else if distance > LAST_MM {
            distance *= FINER;
        } else {
            break;
        }
    }
    Ok(Aligned { transform, cost: lowest, ..found })
}
