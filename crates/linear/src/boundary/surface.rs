//! The border of the white matter as points, each with its area and the sampling positions on both sides.

use antsreg_core::{Grid, Unit, Volume};
use antsreg_kernels::ops::{Intensity, Memory};
use antsreg_kernels::{Backend, ContrastRule, Cpu};
use nalgebra::{Point3, Vector3};

use crate::Error;

/// Standard deviation of the Gaussian that smooths the white matter before its border is found, mm; but at least one
/// voxel along each axis. Without smoothing, the steps of a binary mask would give wrong normals.
const SMOOTHING_MM: f64 = 1.0;
/// Value of the smoothed white-matter image at the border. Values inside the white matter are larger.
const BORDER: f32 = 0.5;
/// Largest number of points on the border of the white matter. From more points, every n-th point is kept.
const MOST: usize = 60_000;
/// Smallest number of points on the border of the white matter. Fewer points do not determine a transform.
const LEAST: usize = 500;
/// The first level of the search uses every n-th point of the border; this is n.
const FEW: usize = 8;

/// A point on the border of the white matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SurfacePoint {
    /// Position of the border point, RAS mm.
    pub place: Point3<f64>,
    /// Unit normal of the border at the point, pointing away from the white matter.
    pub normal: Vector3<f64>,
    /// Area of the border that the point represents, mm².
    pub area: f64,
}

/// Points on the border of the fixed image's white matter, stored on a device. Lengths are in the unit of the fixed
/// image; for this unit stands "mm", as within a search.
pub(crate) struct Surface<B: Backend> {
    pub unit: Unit,
    /// All points of the white matter's border, and a subset of them, which is used on the first level of
    /// boundary-based registration.
    pub all: Samples<B>,
    pub few: Samples<B>,
}

/// Points of the white matter's border, RAS mm, in the form that [`contrast`](antsreg_kernels::ops::Similarity::contrast) takes.
pub(crate) struct Samples<B: Backend> {
    pub points: B::Image,
    /// Number of points on the white matter's border in this set.
    pub count: usize,
    /// Total area of the white matter's border that the points of this set represent, mm².
    pub area: f64,
}

impl<B: Backend> Surface<B> {
    /// Finds the border of the white matter. `white_matter` is a mask (above 0.5 is white matter) or an image of
    /// white-matter fractions. It has its own grid in the world of the fixed image, mm. The lengths of the surface will
    /// be in `unit`.
    pub fn new(backend: &B, white_matter: &Volume, distance_mm: f64, unit: Unit) -> Result<Surface<B>, Error> {
        let (points, distance) =
            (border(&unit.grid(&white_matter.grid), &white_matter.voxels)?, distance_mm / unit.mm());
        let thinned = |most: usize| -> Vec<SurfacePoint> {
            let every = points.len().div_ceil(most).max(1);
            points.iter().step_by(every).copied().collect()
        };
        let all = thinned(MOST);
        let few = thinned(all.len() / FEW);
        let [all, few] = [&all, &few].map(|points| Samples::new(backend, points, distance));
        Ok(Surface { unit, all: all?, few: few? })
    }
}

impl<B: Backend> Samples<B> {
    /// Copies points of the border to the device. The sampling positions lie `distance_mm` inside and outside.
    pub(super) fn new(backend: &B, points: &[SurfacePoint], distance_mm: f64) -> Result<Samples<B>, Error> {
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

/// Finds the points where the border of the white matter crosses a line between neighbouring voxels.
///
/// A piece of border crosses |n_a|/(h_b·h_c) grid lines of axis a per mm². Here n_a is the component of the border's
/// unit normal along the grid's axis a, and h_b and h_c are the spacings along the other two axes. So a point
/// represents the area 1/Σ_a(|n_a|/(h_b·h_c)), mm².
pub(super) fn border(grid: &Grid, white_matter: &[f32]) -> Result<Vec<SurfacePoint>, Error> {
    let shape = grid.shape;
    if shape.iter().any(|extent| *extent < 3) {
        return Err(Error::FewBoundaryPoints { found: 0, least: LEAST });
    }
    let clamped: Vec<f32> = white_matter.iter().map(|value| value.clamp(0.0, 1.0)).collect();
    let sigma = grid.spacing.map(|spacing| f64::max(SMOOTHING_MM / spacing, 1.0));
    let smooth = Cpu.download(&Cpu.smooth(&Cpu.upload(shape, &clamped)?, sigma.into())?)?;
    let step = [1, shape[0], shape[0] * shape[1]];
    let to_world = grid.voxel_to_world();
    let areas = grid.spacing.map(|spacing| grid.spacing.product() / spacing);
    let mut points = Vec::new();
    // Central differences need both neighbours, so the outermost voxels of the grid are left out.
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

/// The gradient of an image by central differences along the axes of its grid, per mm.
fn gradient(values: &[f32], step: [usize; 3], grid: &Grid, at: usize) -> Vector3<f64> {
    Vector3::from_fn(|axis, _| {
        f64::from(values[at + step[axis]] - values[at - step[axis]]) / (2.0 * grid.spacing[axis])
    })
}

#[cfg(test)]
mod tests {
    use nalgebra::Rotation3;

    use super::*;

    /// A test mask of white matter: a ball, on an oblique grid with unequal voxel sizes.
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
        let points = border(&volume.grid, &volume.voxels).unwrap();
        let mut aligned = 0.0;
        for point in &points {
            let from_centre = point.place - centre;
            // The largest voxel size of the mask is 1.5 mm, which limits how accurately the points lie on the sphere.
            assert!((from_centre.norm() - 25.0).abs() < 0.6, "{}", from_centre.norm());
            // Where the ball's surface is parallel to a plane of voxels, the normals of the points deviate by up to
            // 30°.
            let cosine = point.normal.dot(&from_centre.normalize());
            assert!(cosine > 0.85, "{cosine} at {point:?}");
            aligned += cosine;
        }
        assert!(aligned / points.len() as f64 > 0.99, "{}", aligned / points.len() as f64);
        let area: f64 = points.iter().map(|point| point.area).sum();
        let expected = 4.0 * std::f64::consts::PI * 625.0;
        assert!((area / expected - 1.0).abs() < 0.02, "{area} for {expected}");
    }

    /// White matter that fills the grid up to the voxel `last` along an axis. The voxels are 2 × 0.5 × 3 mm in size.
    fn half(shape: [usize; 3], axis: usize, last: usize) -> Volume {
        let grid = Grid::axis_aligned(shape, [2.0, 0.5, 3.0]);
        let [nx, ny, _] = shape;
        let index = |n: usize| [n % nx, n / nx % ny, n / nx / ny][axis];
        let voxels = (0..grid.len()).map(|n| f32::from(u8::from(index(n) <= last))).collect();
        Volume { grid, voxels }
    }

    #[test]
    fn a_plane_has_one_point_on_each_line_that_crosses_it_inside_the_grid() {
        // Each grid has 500 such lines, which is the smallest number of points that is accepted. The last grid is as
        // thin as possible.
        for (shape, axis, area) in
            [([14, 22, 27], 0, 1.5), ([22, 30, 27], 1, 6.0), ([22, 27, 14], 2, 1.0), ([14, 3, 502], 0, 1.5)]
        {
            let volume = half(shape, axis, 6);
            let points = border(&volume.grid, &volume.voxels).expect("enough points");
            assert_eq!(points.len(), 500, "{shape:?}");
            let (place, outwards) = (6.5 * volume.grid.spacing[axis], Vector3::ith(axis, 1.0));
            for point in points {
                assert!((point.place[axis] - place).abs() < 1e-3, "{point:?}");
                assert!((point.normal - outwards).norm() < 1e-4 && (point.area - area).abs() < 1e-4, "{point:?}");
            }
        }
    }

    #[test]
    fn a_border_beside_the_outermost_voxels_has_no_points() {
        for axis in 0..3 {
            let mut shape = [40; 3];
            shape[axis] = 14;
            let mut volume = half(shape, axis, 12);
            volume.grid.spacing = Vector3::repeat(1.0);
            let found = border(&volume.grid, &volume.voxels);
            assert!(matches!(found, Err(Error::FewBoundaryPoints { found: 0, .. })), "axis {axis}");
        }
    }

    #[test]
    fn normals_of_a_quadratic_image_are_exact() {
        // The image falls with the square of the distance from the centre. Its gradient is radial and linear in the
        // position, and Gaussian smoothing only subtracts a constant, the sum of the variances along the axes.
        let (mut volume, centre) = ball(25.0);
        let (to_world, [nx, ny, _]) = (volume.grid.voxel_to_world(), volume.grid.shape);
        let own =
            |n: usize| to_world.apply(&Point3::from([n % nx, n / nx % ny, n / nx / ny].map(|index| index as f64)));
        let value = |n: usize| (0.5 + (400.0 - (own(n) - centre).norm_squared()) / 800.0) as f32;
        volume.voxels = (0..volume.grid.len()).map(value).collect();
        let expected = (400.0 - volume.grid.spacing.norm_squared()).sqrt();
        for point in border(&volume.grid, &volume.voxels).expect("a border") {
            let from_centre = point.place - centre;
            assert!((from_centre.norm() - expected).abs() < 0.05, "{} for {expected}", from_centre.norm());
            assert!((point.normal - from_centre.normalize()).norm() < 1e-3, "{point:?}");
        }
    }

    #[test]
    fn sheets_thinner_than_the_smoothing_have_no_border() {
        // A sheet that is smoothed with a standard deviation of 1 mm has a largest value of erf(thickness/√8), which is
        // 0.5 at 1.35 mm.
        for (mm, voxels, expected) in [(0.5, 2, false), (0.5, 3, true), (1.0, 1, false), (1.0, 2, true)] {
            let grid = Grid::axis_aligned([30, 40, 40], [mm; 3]);
            let sheet: Vec<f32> =
                (0..grid.len()).map(|n| f32::from(u8::from((14..14 + voxels).contains(&(n % 30))))).collect();
            let found = border(&grid, &sheet);
            assert_eq!(found.is_ok(), expected, "{voxels} voxels of {mm} mm");
        }
    }

    #[test]
    fn values_equal_to_that_of_the_border_lie_outside() {
        // Between white matter and the rest lies a layer whose value is that of the border. Only its inner side is a
        // border.
        let mut volume = half([40, 30, 30], 0, 9);
        let layer = volume.voxels.iter_mut().enumerate().filter(|(n, _)| (10..30).contains(&(n % 40)));
        layer.for_each(|(_, value)| *value = BORDER);
        let points = border(&volume.grid, &volume.voxels).expect("a border");
        assert_eq!(points.len(), 28 * 28);
        assert!(points.iter().all(|point| point.place.x < 40.0));
    }

    #[test]
    fn white_matter_without_a_border_is_refused() {
        let (volume, _) = ball(25.0);
        for value in [0.0, 1.0] {
            let flat = Volume::filled(volume.grid.clone(), value);
            assert!(matches!(border(&flat.grid, &flat.voxels), Err(Error::FewBoundaryPoints { found: 0, .. })));
        }
    }
}
