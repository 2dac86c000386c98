//! Tests of motion correction with known motion: a test object given by a formula is sampled after a motion.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::Dof;
use antsreg_motion::{Cost, Error, Options, Reference, Series};
use nalgebra::{Point3, Rotation3, Vector3};

/// Test grid with the voxel size of echo-planar images and oblique axes.
fn grid() -> Grid {
    let direction = Rotation3::from_euler_angles(0.2, -0.1, 0.05).into_inner();
    Grid {
        shape: [40, 44, 24],
        spacing: Vector3::new(3.25, 3.25, 4.0),
        origin: direction * Point3::new(-65.0, -71.0, -48.0),
        direction,
    }
}

/// Intensity of the test object at a point, RAS mm: an ellipsoid with folds at its surface and blobs inside. Its finest
/// detail is about 12 mm long, so that splines through voxels of 4 mm can represent the object.
fn object(point: &Point3<f64>) -> f64 {
    let scaled = Vector3::new(point.x / 48.0, point.y / 56.0, point.z / 36.0);
    let angle = point.y.atan2(point.x);
    let radius = scaled.norm() * (1.0 + 0.04 * (5.0 * angle).cos());
    let inside = 1.0 / (1.0 + (12.0 * (radius - 1.0)).exp());
    let texture = (point.x / 11.0).sin() * (point.y / 13.0).cos() + (point.z / 9.0).sin() * (point.x / 17.0).cos();
    inside * (500.0 + 80.0 * texture)
}

/// A volume of the test object after `motion` (reference → volume, RAS mm). Its intensities are multiplied by `gain`,
/// and noise with the standard deviation `noise` is added.
fn moved(motion: &AffineTransform, gain: f64, noise: f64, seed: u64) -> Volume {
    seen(motion, |value| gain * value, noise, seed)
}

/// A volume of the test object after `motion`, as [`moved`], but with another contrast: `shown` maps the object's
/// intensity to the volume's intensity.
fn seen(motion: &AffineTransform, shown: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Volume {
    let grid = grid();
    let (to_world, back) = (grid.voxel_to_world(), motion.inverse().unwrap());
    let [nx, ny, _] = grid.shape;
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let voxels = (0..grid.len())
        .map(|n| {
            let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / (nx * ny)) as f64);
            // The sum of twelve uniform random numbers is nearly normally distributed, with a variance of 1.
            let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            (shown(object(&back.apply(&to_world.apply(&index)))) + noise * normal) as f32
        })
        .collect();
    Volume { grid, voxels }
}

/// A rigid motion about the middle of the test object: rotations about x, y and z in degrees, and a translation in mm.
fn motion(degrees: [f64; 3], shift: [f64; 3]) -> AffineTransform {
    let [x, y, z] = degrees.map(f64::to_radians);
    AffineTransform { matrix: Rotation3::from_euler_angles(x, y, z).into_inner(), translation: Vector3::from(shift) }
}

/// Mean distance between the positions to which two transforms map points of the test object, mm.
fn apart(a: &AffineTransform, b: &AffineTransform) -> f64 {
    let steps = |half: i32| (-half..=half).map(|n| 8.0 * f64::from(n));
    let points: Vec<_> =
        steps(4).flat_map(|x| steps(5).flat_map(move |y| steps(3).map(move |z| Point3::new(x, y, z)))).collect();
    points.iter().map(|point| (a.apply(point) - b.apply(point)).norm()).sum::<f64>() / points.len() as f64
}

/// Standard deviation of the noise in the test volumes: 1 % of the test object's intensity.
const NOISE: f64 = 5.0;
/// Largest mean error of the positions of points that the tests allow, mm: twice the error that the noise causes.
const TOLERANCE_MM: f64 = 0.03;

fn still() -> Volume {
    moved(&AffineTransform::identity(), 1.0, NOISE, 1)
}

#[test]
fn motions_are_found() {
    let reference = Reference::new(&Cpu, &still(), &Options::default()).unwrap();
    let cases = [([0.0; 3], [0.0; 3]), ([0.5, -1.0, 2.0], [0.4, -0.3, 1.1]), ([5.0, 3.0, -4.0], [3.0, -4.0, 2.0])];
    for (n, (degrees, shift)) in cases.into_iter().enumerate() {
        let truth = motion(degrees, shift);
        let volume = moved(&truth, 1.1, NOISE, 100 + n as u64);
        let found = reference.align(&volume, &[AffineTransform::identity()]).unwrap();
        // Noise of 1 % in both volumes causes a mean error of 0.015 mm in the positions of points.
        assert!(apart(&found.transform, &truth) < TOLERANCE_MM, "{degrees:?}: {}", apart(&found.transform, &truth));
        assert!((found.transform.matrix * found.transform.matrix.transpose()).is_identity(1e-9));
    }
}

#[test]
fn least_squares_wants_equal_intensities() {
    let truth = motion([1.0, -0.5, 0.7], [0.8, 0.2, -0.6]);
    let options = Options { cost: Cost::Lsq, ..Options::default() };
    let reference = Reference::new(&Cpu, &still(), &options).unwrap();
    let start = [AffineTransform::identity()];
    let same = reference.align(&moved(&truth, 1.0, NOISE, 5), &start).unwrap();
    assert!(apart(&same.transform, &truth) < TOLERANCE_MM);
    let brighter = reference.align(&moved(&truth, 1.3, NOISE, 5), &start).unwrap();
    assert!(apart(&brighter.transform, &truth) > apart(&same.transform, &truth));
}

/// Contrasts like those between volumes of diffusion or labelling series. Volumes are dark where the reference is
/// bright, and brightest at medium intensities of the reference.
fn contrasts() -> [fn(f64) -> f64; 2] {
    [|value| 600.0 * (-value / 250.0).exp() * (value / 80.0).min(1.0), |value| value * (800.0 - value) / 400.0]
}

#[test]
fn other_contrasts_are_aligned_by_costs_that_allow_them() {
    let truth = motion([1.5, -0.5, 1.0], [0.8, 0.5, -1.2]);
    let start = [AffineTransform::identity()];
    for (n, shown) in contrasts().into_iter().enumerate() {
        let volume = seen(&truth, shown, NOISE, 40 + n as u64);
        let error = |cost| {
            let reference = Reference::new(&Cpu, &still(), &Options { cost, ..Options::default() }).unwrap();
            reference.align(&volume, &start).map_or(f64::INFINITY, |found| apart(&found.transform, &truth))
        };
        // The tolerances are larger than for equal contrasts. These volumes have less contrast than the reference, so
        // noise of 1 % of the reference's intensity is several per cent of their contrast. Histograms of interpolated
        // values also have a bias.
        let [cr, nmi, ncc] = [Cost::Cr, Cost::Nmi, Cost::Ncc].map(error);
        assert!(cr < 0.1 && nmi < 0.2, "{cr} by cr, {nmi} by nmi");
        assert!(ncc > cr, "{ncc} by ncc");
    }
}

#[test]
fn the_correlation_ratio_costs_no_accuracy_where_contrasts_are_equal() {
    let truth = motion([0.5, -1.0, 2.0], [0.4, -0.3, 1.1]);
    let options = Options { cost: Cost::Cr, ..Options::default() };
    let reference = Reference::new(&Cpu, &still(), &options).unwrap();
    let found = reference.align(&moved(&truth, 1.1, NOISE, 101), &[AffineTransform::identity()]).unwrap();
    assert!(apart(&found.transform, &truth) < TOLERANCE_MM, "{}", apart(&found.transform, &truth));
}

#[test]
fn every_model_finds_its_own_motions() {
    let stretch = nalgebra::Matrix3::from_diagonal(&Vector3::new(1.02, 0.98, 1.01));
    let shear = nalgebra::Matrix3::new(1.0, 0.01, 0.0, 0.0, 1.0, -0.01, 0.0, 0.0, 1.0);
    let turn = motion([1.0, 2.0, -1.5], [0.7, -0.9, 0.5]);
    let with = |matrix| AffineTransform { matrix: turn.matrix * matrix, ..turn };
    let cases = [
        (Dof::Translation3, motion([0.0; 3], [1.5, -0.8, 0.6])),
        (Dof::Rigid6, turn),
        (Dof::Similarity7, with(nalgebra::Matrix3::identity() * 1.02)),
        (Dof::Scales9, with(stretch)),
        (Dof::Affine12, with(stretch * shear)),
    ];
    for (dof, truth) in cases {
        let reference = Reference::new(&Cpu, &still(), &Options { dof, ..Options::default() }).unwrap();
        let found = reference.align(&moved(&truth, 1.0, NOISE, 9), &[AffineTransform::identity()]).unwrap();
        assert!(apart(&found.transform, &truth) < 0.05, "{dof:?}: {}", apart(&found.transform, &truth));
    }
}

#[test]
fn spikes_do_not_draw_their_neighbours() {
    let reference = Reference::new(&Cpu, &still(), &Options::default()).unwrap();
    let truths: Vec<_> = (0..8)
        .map(|n| {
            if n == 3 {
                motion([5.0, -5.0, 5.0], [5.0, -3.0, 4.0])
            } else {
                motion([0.1 * f64::from(n), 0.0, 0.0], [0.0, 0.0, 0.2])
            }
        })
        .collect();
    let volumes: Vec<_> = truths.iter().zip(20..).map(|(truth, seed)| moved(truth, 1.0, NOISE, seed)).collect();
    let found = Series::new(&reference).align(&volumes.iter().collect::<Vec<_>>()).unwrap();
    for (n, (found, truth)) in found.iter().zip(&truths).enumerate() {
        let apart = apart(&found.as_ref().unwrap().transform, truth);
        assert!(apart < TOLERANCE_MM, "volume {n}: {apart}");
    }
}

#[test]
fn what_cannot_be_aligned_is_told_and_keeps_no_other_from_it() {
    let reference = Reference::new(&Cpu, &still(), &Options::default()).unwrap();
    let empty = Volume::filled(grid(), 0.0);
    let far = AffineTransform { translation: Vector3::new(500.0, 0.0, 0.0), ..AffineTransform::identity() };
    assert!(matches!(reference.align(&still(), &[far]), Err(Error::NoOverlap { .. })));
    let found = Series::new(&reference).align(&[&still(), &empty, &still()]).unwrap();
    assert!(found[0].is_ok() && found[2].is_ok());
    assert!(matches!(found[1], Err(Error::Constant)));
    assert!(matches!(Reference::new(&Cpu, &empty, &Options::default()), Err(Error::Constant)));
    let none = Options { smoothing_sigmas_mm: Vec::new(), ..Options::default() };
    assert!(matches!(Reference::new(&Cpu, &still(), &none), Err(Error::Levels)));
}

#[test]
fn headers_in_another_unit_give_the_same_voxels() {
    let scaled = |volume: &Volume, factor: f64| {
        let grid = &volume.grid;
        let grid = Grid { spacing: grid.spacing * factor, origin: grid.origin * factor, ..grid.clone() };
        Volume { grid, voxels: volume.voxels.clone() }
    };
    let truth = motion([1.0, -0.5, 0.7], [0.8, 0.2, -0.6]);
    let (still, volume) = (still(), moved(&truth, 1.0, NOISE, 5));
    for cost in [Cost::Ncc, Cost::Lsq, Cost::Cr, Cost::Nmi] {
        let found = |factor: f64| {
            let options = Options { cost, ..Options::default() };
            let reference = Reference::new(&Cpu, &scaled(&still, factor), &options).unwrap();
            let mut series = antsreg_motion::Series::new(&reference);
            series.align(&[&scaled(&volume, factor)]).unwrap().remove(0).unwrap()
        };
        let expected = found(1.0);
        for factor in [1.0 / 16.0, 16.0] {
            let found = found(factor);
            let translation = expected.transform.translation * factor;
            assert_eq!(found.transform, AffineTransform { translation, ..expected.transform }, "{cost:?} × {factor}");
            assert_eq!((found.cost, found.overlap), (expected.cost, expected.overlap));
        }
    }
}
