//! The border of the white matter: points with an area, and the places on both sides of each.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::{Backend, ContrastRule, Cpu};
use nalgebra::{Point3, Vector3};

use crate::Error;

/// Standard deviation of the smoothing before the border is looked for, mm, and a voxel along axes with longer ones: the steps of a
/// mask have no direction.
const SMOOTHING_MM: f64 = 1.0;
/// The value at the border; white matter is above.
const BORDER: f32 = 0.5;
/// Points, at most. More are thinned out evenly.
const MOST: usize = 60_000;
/// Points, at least: fewer do not determine a transform.
const LEAST: usize = 500;
/// The coarse steps of the search use every eighth point.
const FEW: usize = 8;

/// A point on the border.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SurfacePoint {
    /// Where it lies, RAS mm.
    pub place: Point3<f64>,
    /// Away from the white matter, of length 1.
    pub normal: Vector3<f64>,
    /// The area it stands for, mm².
    pub area: f64,
}

/// The border on a device.
pub(crate) struct Surface<B: Backend> {
    /// All points, and some of them for the search's coarse steps.
    pub all: Samples<B>,
    pub few: Samples<B>,
}

/// Points as [`Backend::contrast`] takes them, RAS mm.
pub(crate) struct Samples<B: Backend> {
    pub points: B::Image,
    /// Number of points.
    pub count: usize,
    /// The sum of their areas.
    pub area: f64,
}

impl<B: Backend> Surface<B> {
    /// The border of the white matter: voxels above 0.5, or shares of white matter. It has a grid of its own in the fixed world.
    pub fn new(backend: &B, white_matter: &Volume, distance_mm: f64) -> Result<Surface<B>, Error> {
        let points = border(white_matter)?;
        let thinned = |most: usize| -> Vec<SurfacePoint> {
            let every = points.len().div_ceil(most).max(1);
            points.iter().step_by(every).copied().collect()
        };
        let all = thinned(MOST);
        let few = thinned(all.len() / FEW);
        Ok(Surface { all: Samples::new(backend, &all, distance_mm)?, few: Samples::new(backend, &few, distance_mm)? })
    }
}

impl<B: Backend> Samples<B> {
    fn new(backend: &B, points: &[SurfacePoint], distance_mm: f64) -> Result<Samples<B>, Error> {
        let mut rows = Vec::with_capacity(ContrastRule::ROWS * points.len());
        for side in [-distance_mm, distance_mm] {
            for axis in 0..3 {
                rows.extend(points.iter().map(|point| (point.place[axis] + side * point.normal[axis]) as f32));
            }
        }
        rows.extend(points.iter().map(|point| point.area as f32));
        let area = points.iter().map(|point| point.area).sum();
        Ok(Samples {
            points: backend.upload([points.len(), ContrastRule::ROWS, 1], &rows)?,
            count: points.len(),
            area,
        })
    }
}

/// The points where the border crosses a line between neighbouring voxels.
///
/// A piece of border with normal n (along the grid's axes) crosses |n_a|/(h_b·h_c) lines along axis a for each mm², h being the
/// spacing along the other axes. So a point stands for one over the sum of these.
pub(super) fn border(white_matter: &Volume) -> Result<Vec<SurfacePoint>, Error> {
    let grid = &white_matter.grid;
    let shape = grid.shape;
    if shape.iter().any(|extent| *extent < 3) {
        return Err(Error::FewBoundaryPoints { found: 0, least: LEAST });
    }
    let clamped: Vec<f32> = white_matter.voxels.iter().map(|value| value.clamp(0.0, 1.0)).collect();
    let sigma = grid.spacing.map(|spacing| f64::max(SMOOTHING_MM / spacing, 1.0));
    let smooth = Cpu.download(&Cpu.smooth(&Cpu.upload(shape, &clamped)?, sigma.into())?)?;
    let step = [1, shape[0], shape[0] * shape[1]];
    let to_world = grid.voxel_to_world();
    let areas = grid.spacing.map(|spacing| grid.spacing.product() / spacing);
    let mut points = Vec::new();
    // Voxels at the border of the grid have no central differences.
    for k in 1..shape[2] - 1 {
        for j in 1..shape[1] - 1 {
            for i in 1..shape[0] - 1 {
                let (at, index) = (i + step[1] * j + step[2] * k, [i, j, k]);
                for axis in 0..3 {
                    let (a, b) = (smooth[at], smooth[at + step[axis]]);
                    if (a > BORDER) == (b > BORDER) || index[axis] + 2 >= shape[axis] {
                        continue;
                    }
                    let share = f64::from((BORDER - a) / (b - a));
                    let [before, after] = [at, at + step[axis]].map(|at| gradient(&smooth, step, grid, at));
                    let slope = before + (after - before) * share;
                    let Some(outwards) = (-slope).try_normalize(f64::MIN_POSITIVE) else { continue };
                    let mut place = Point3::new(i as f64, j as f64, k as f64);
                    place[axis] += share;
                    let crossings = (0..3).map(|axis| outwards[axis].abs() / areas[axis]).sum::<f64>();
                    points.push(SurfacePoint {
                        place: to_world.apply(&place),
                        normal: grid.direction * outwards,
                        area: 1.0 / crossings,
                    });
                }
            }
        }
    }
    match points.len() < LEAST {
        true => Err(Error::FewBoundaryPoints { found: points.len(), least: LEAST }),
        false => Ok(points),
    }
}

/// Central differences along the grid's axes, for each mm.
fn gradient(values: &[f32], step: [usize; 3], grid: &Grid, at: usize) -> Vector3<f64> {
    Vector3::from_fn(|axis, _| {
        f64::from(values[at + step[axis]] - values[at - step[axis]]) / (2.0 * grid.spacing[axis])
    })
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;

    use super::*;

    /// A ball of white matter on an oblique grid of uneven spacing.
    fn ball(radius: f64) -> (Volume, Point3<f64>) {
        let direction = Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner();
        let spacing = Vector3::new(1.0, 1.2, 1.5);
        let grid = Grid { shape: [70, 60, 48], spacing, origin: Point3::new(3.0, -20.0, 8.0), direction };
        let (centre, to_world) = (grid.centre(), grid.voxel_to_world());
        let voxels = (0..grid.len())
            .map(|n| {
                let index = Point3::new((n % 70) as f64, (n / 70 % 60) as f64, (n / 4200) as f64);
                f32::from(u8::from((to_world.apply(&index) - centre).norm() < radius))
            })
            .collect();
        (Volume { grid, voxels }, centre)
    }

    #[test]
    fn points_lie_on_the_border_point_outwards_and_share_its_area() {
        let (volume, centre) = ball(25.0);
        let points = border(&volume).unwrap();
        let mut aligned = 0.0;
        for point in &points {
            let from_centre = point.place - centre;
            // A mask of voxels of 1.5 mm.
            assert!((from_centre.norm() - 25.0).abs() < 0.6, "{}", from_centre.norm());
            // Where many voxels of the mask end in one plane, the normal is up to 30° off.
            let cosine = point.normal.dot(&from_centre.normalize());
            assert!(cosine > 0.85, "{cosine} at {point:?}");
            aligned += cosine;
        }
        assert!(aligned / points.len() as f64 > 0.99, "{}", aligned / points.len() as f64);
        let area: f64 = points.iter().map(|point| point.area).sum();
        let expected = 4.0 * std::f64::consts::PI * 625.0;
        assert!((area / expected - 1.0).abs() < 0.02, "{area} for {expected}");
    }

    #[test]
    fn white_matter_without_a_border_is_refused() {
        let (volume, _) = ball(25.0);
        for value in [0.0, 1.0] {
            let flat = Volume::filled(volume.grid.clone(), value);
            assert!(matches!(border(&flat), Err(Error::FewBoundaryPoints { found: 0, .. })));
        }
    }
}
