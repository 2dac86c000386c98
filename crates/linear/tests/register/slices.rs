//! Tests of the registration of two-dimensional images (slices).

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Cpu, JointSampling};
use antsreg_linear::{AngleSearch, Cost, Dof, Error, Options, Search, Start, register};
use nalgebra::{Matrix3, Point3, Vector3};

use crate::object::{affine, fixed, object};

/// Tolerance of the tests, mm: a tenth of a pixel.
const TOLERANCE_MM: f64 = 0.2;

/// A slice through the object at z = 6 mm of its own space, resampled through `fixed_to_moving` on `grid`. The plane
/// of `grid` may lie anywhere along z, because two-dimensional images have no position along z.
pub fn slice(grid: Grid, fixed_to_moving: &AffineTransform) -> Volume {
    let back = fixed_to_moving.inverse().expect("an invertible transform");
    let to_world = grid.voxel_to_world();
    let nx = grid.shape[0];
    let voxels = (0..grid.len())
        .map(|i| {
            let mut at = to_world.apply(&Point3::new((i % nx) as f64, (i / nx) as f64, 0.0));
            at.z = 0.0;
            let at = back.apply(&at);
            object(&Point3::new(at.x, at.y, 6.0)) as f32
        })
        .collect();
    Volume { grid, voxels }
}

/// The grid of a slice with pixels of 2 mm and a thickness of 5 mm, with the given centre in x and y, at the height z.
pub fn grid(centre: [f64; 2], z: f64) -> Grid {
    let mut grid = Grid::axis_aligned([100, 108, 1], [2.0, 2.0, 5.0]);
    grid.origin = Point3::new(centre[0] - 99.0, centre[1] - 107.0, z);
    grid
}

/// A rotation about z after scales and shear, then a translation, all in the plane.
pub fn in_plane(degrees: f64, scales: [f64; 2], shear: f64, shift: [f64; 2]) -> AffineTransform {
    let mut map = affine([0.0, 0.0, degrees], [scales[0], scales[1], 1.0], [shift[0], shift[1], 0.0]);
    map.matrix *= Matrix3::new(1.0, shear, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0);
    map
}

fn options(dof: Dof) -> Options {
    Options { dof, search: Search::Angles(AngleSearch::of_slices()), ..Options::default() }
}

fn align(fixed: &Volume, moving: &Volume, options: &Options) -> Result<AffineTransform, Error> {
    register(&Cpu, fixed, moving, None, None, options, Start::CentreOfMass, &mut ()).map(|outcome| outcome.transform)
}

/// Largest distance in the plane between the positions to which two transforms map a point of the object, mm.
pub fn error_mm(found: &AffineTransform, truth: &AffineTransform) -> f64 {
    let points = [[0.0, 0.0], [40.0, 0.0], [0.0, 60.0], [-40.0, -50.0], [30.0, -40.0]];
    let distance = |[x, y]: [f64; 2]| {
        let at = Point3::new(x, y, 0.0);
        (found.apply(&at) - truth.apply(&at)).xy().norm()
    };
    points.into_iter().map(distance).fold(0.0, f64::max)
}

#[test]
fn finds_every_turn_in_the_plane() {
    let fixed = slice(grid([0.0, 0.0], 0.0), &AffineTransform::identity());
    for degrees in [-180.0, -140.0, -90.0, -35.0, 10.0, 75.0, 120.0, 165.0] {
        let truth = in_plane(degrees, [1.0; 2], 0.0, [31.0, -42.0]);
        let moving = slice(grid([31.0, -42.0], 40.0), &truth);
        let found = align(&fixed, &moving, &options(Dof::Rigid6)).expect("a result");
        let error = error_mm(&found, &truth);
        assert!(error < TOLERANCE_MM, "{error} mm for {degrees}°");
        // The transform found must be rigid in the plane and the identity along z.
        assert!((found.matrix.determinant() - 1.0).abs() < 1e-9);
        assert_eq!(found.matrix.row(2).into_owned(), Matrix3::identity().row(2).into_owned());
    }
}

#[test]
fn frees_as_much_as_the_degrees_of_freedom_say() {
    let fixed = slice(grid([0.0, 0.0], 0.0), &AffineTransform::identity());
    let rigid = in_plane(14.0, [1.0; 2], 0.0, [5.0, -7.0]);
    let similar = in_plane(-14.0, [1.15; 2], 0.0, [5.0, -7.0]);
    // The scales of the model act along the axes of the moving grid, which are the world axes in this test. So the
    // scales are applied after the rotation.
    let mut scaled = in_plane(9.0, [1.0; 2], 0.0, [5.0, -7.0]);
    scaled.matrix = Matrix3::from_diagonal(&Vector3::new(1.2, 0.9, 1.0)) * scaled.matrix;
    let sheared = in_plane(150.0, [1.3, 0.9], 0.15, [-12.0, 9.0]);
    let truths =
        [(Dof::Rigid6, rigid), (Dof::Similarity7, similar), (Dof::Scales9, scaled), (Dof::Affine12, sheared)];
    for (number, (_, truth)) in truths.iter().enumerate() {
        let moving = slice(grid([0.0, 0.0], -3.0), truth);
        for (other, (dof, _)) in truths.iter().enumerate() {
            let found = align(&fixed, &moving, &options(*dof)).expect("a result");
            let error = error_mm(&found, truth);
            if other >= number {
                assert!(error < TOLERANCE_MM, "{error} mm with {dof:?} for {truth:?}");
            } else {
                assert!(error > 1.0, "{dof:?} cannot reach {truth:?}, but was off by {error} mm only");
            }
        }
    }
}

#[test]
fn every_cost_finds_slices() {
    let fixed = slice(grid([0.0, 0.0], 0.0), &AffineTransform::identity());
    let truth = in_plane(-64.0, [1.0; 2], 0.0, [20.0, 11.0]);
    let moving = slice(grid([20.0, 11.0], 9.0), &truth);
    for cost in
        [Cost::MutualInformation, Cost::NormalisedMutualInformation, Cost::NormalisedCorrelation, Cost::LeastSquares]
    {
        for histogram in [JointSampling::Trilinear, JointSampling::PartialVolume] {
            if histogram == JointSampling::PartialVolume && !cost.has_joint_histogram() {
                continue;
            }
            let search = Search::Angles(AngleSearch::of_slices());
            let found = align(&fixed, &moving, &Options { dof: Dof::Rigid6, search, histogram, ..Options::of(cost) });
            let error = error_mm(&found.expect("a result"), &truth);
            assert!(error < TOLERANCE_MM, "{error} mm by {cost:?}, {histogram:?}");
        }
    }
}

#[test]
fn slices_may_be_stored_in_any_direction_of_their_plane() {
    let fixed = slice(grid([0.0, 0.0], 0.0), &AffineTransform::identity());
    let truth = in_plane(25.0, [1.0; 2], 0.0, [12.0, -5.0]);
    for direction in [[-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, -1.0]] {
        let mut grid = grid([12.0, -5.0], 7.0);
        let middle = grid.centre();
        grid.direction = Matrix3::from_diagonal(&direction.into());
        grid.origin += middle - grid.centre();
        let found = align(&fixed, &slice(grid, &truth), &options(Dof::Rigid6)).expect("a result");
        let error = error_mm(&found, &truth);
        assert!(error < TOLERANCE_MM, "{error} mm for {direction:?}");
    }
}

#[test]
fn weights_of_slices_count() {
    let truth = in_plane(6.0, [1.0; 2], 0.0, [4.0, 7.0]);
    let mut fixed = slice(grid([0.0, 0.0], 0.0), &AffineTransform::identity());
    let mut moving = slice(grid([0.0, 0.0], 0.0), &truth);
    let mut weight = Volume::filled(fixed.grid.clone(), 1.0);
    // Both images get a bright bar beside the object. The bar moves in the direction opposite to the object's.
    for (row, [of_fixed, of_moving]) in [(6, [true, false]), (7, [true, false]), (10, [false, true])] {
        for i in 0..100 {
            fixed.voxels[row * 100 + i] += if of_fixed { 1500.0 } else { 0.0 };
            moving.voxels[row * 100 + i] += if of_moving { 1500.0 } else { 0.0 };
        }
    }
    weight.voxels[..14 * 100].fill(0.0);
    let run = |weight: Option<&Volume>| {
        let options = Options { dof: Dof::Rigid6, search: Search::None, ..Options::default() };
        let found = register(&Cpu, &fixed, &moving, weight, weight, &options, Start::CentreOfMass, &mut ())
            .expect("a result");
        error_mm(&found.transform, &truth)
    };
    let (masked, pulled) = (run(Some(&weight)), run(None));
    assert!(masked < TOLERANCE_MM && pulled > 2.0 * TOLERANCE_MM, "{masked} mm masked, {pulled} mm pulled");
}

#[test]
fn slices_that_do_not_fit_are_refused() {
    let flat = slice(grid([0.0, 0.0], 0.0), &AffineTransform::identity());
    let error = align(&fixed(), &flat, &Options::default()).expect_err("a refusal");
    assert!(matches!(error, Error::SliceAndVolume { moving: [100, 108, 1], .. }), "{error}");
    assert!(matches!(align(&flat, &fixed(), &Options::default()), Err(Error::SliceAndVolume { .. })));
    let mut upright = flat.clone();
    upright.grid.direction = affine([90.0, 0.0, 0.0], [1.0; 3], [0.0; 3]).matrix;
    let error = align(&flat, &upright, &options(Dof::Rigid6)).expect_err("a refusal");
    assert_eq!(error.to_string(), "the planes of the two slices are 90° apart, expected at most 20°");
}
