//! Tests of the poses, the grid, the fractions of warps and the volumes of longitudinal studies.

use antsreg_cohort::longitudinal::{
    between, changes, common_grid, disagreement_mm, fraction, halfway, mean, part_of_way, recentred,
};
use antsreg_core::{AffineTransform, DisplacementField, Grid, LabelVolume, Volume};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// Random numbers from −1 to 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self, size: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| size * self.next())
    }

    /// A rotation by up to `size` radians about each axis, and a shift by up to 50·`size` mm.
    fn rigid(&mut self, size: f64) -> AffineTransform {
        let matrix = Rotation3::from_scaled_axis(self.vector(size)).into_inner();
        AffineTransform { matrix, translation: self.vector(50.0 * size) }
    }
}

/// The squared difference of two maps: squared angle, and squared distance of the images of `centre`, per 50 mm.
fn squared(a: &AffineTransform, b: &AffineTransform, centre: Point3<f64>) -> f64 {
    let cosine = ((a.matrix.transpose() * b.matrix).trace() - 1.0) / 2.0;
    // Near 1, the arc cosine loses half of the digits; the sine is exact there.
    let skew = a.matrix.transpose() * b.matrix;
    let sine = Vector3::new(skew.m32 - skew.m23, skew.m13 - skew.m31, skew.m21 - skew.m12).norm() / 2.0;
    sine.atan2(cosine).powi(2) + ((a.apply(&centre) - b.apply(&centre)) / 50.0).norm_squared()
}

/// Minimises a function of rigid maps by steps along one parameter at a time, which are halved when none helps.
fn minimised(mut maps: Vec<AffineTransform>, cost: impl Fn(&[AffineTransform]) -> f64) -> Vec<AffineTransform> {
    let (mut best, mut step) = (cost(&maps), 0.1);
    while step > 1e-10 {
        let before = best;
        for n in 0..maps.len() {
            for parameter in 0..6 {
                for signed in [step, -step] {
                    let mut changed = maps.clone();
                    let unit = Vector3::ith(parameter % 3, signed);
                    match parameter < 3 {
                        true => changed[n].matrix *= Rotation3::from_scaled_axis(unit).into_inner(),
                        false => changed[n].translation += unit * 50.0,
                    }
                    let found = cost(&changed);
                    if found < best {
                        (maps, best) = (changed, found);
                    }
                }
            }
        }
        if best >= before {
            step /= 2.0;
        }
    }
    maps
}

fn apart(a: &AffineTransform, b: &AffineTransform) -> f64 {
    (a.to_homogeneous() - b.to_homogeneous()).amax()
}

#[test]
fn the_mean_has_the_least_sum_of_squared_differences() {
    let mut random = Random(1);
    let centre = Point3::new(3.0, -8.0, 20.0);
    for count in [2, 3, 5] {
        let maps: Vec<AffineTransform> = (0..count).map(|_| random.rigid(0.6)).collect();
        let cost = |of: &[AffineTransform]| maps.iter().map(|map| squared(map, &of[0], centre)).sum::<f64>();
        let expected = minimised(vec![AffineTransform::identity()], cost)[0];
        let found = mean(&maps, centre).expect("a mean");
        // The search ends with steps of 1e-10; the cost, of about 1, is rounded to 1e-16, so its minimum is known to 1e-8
        // radians and 5e-7 mm, at a distance of up to 80 mm.
        assert!(apart(&expected, &found) < 1e-5, "{expected:?} {found:?}");
    }
}

#[test]
fn a_mean_of_scales_is_geometric() {
    let by =
        |scale: f64| AffineTransform { matrix: Matrix3::from_diagonal_element(scale), translation: Vector3::zeros() };
    let found = mean(&[by(0.5), by(2.0)], Point3::new(1.0, 2.0, 3.0)).expect("a mean");
    assert!((found.matrix - Matrix3::identity()).amax() < 1e-12);
    assert!(mean(&[], Point3::origin()).is_err() && mean(&[by(-1.0)], Point3::origin()).is_err());
}

/// Exact maps between time points with these poses.
fn maps_of(poses: &[AffineTransform]) -> Vec<Vec<AffineTransform>> {
    let map = |from: &AffineTransform, to: &AffineTransform| to.after(&from.inverse().expect("a pose"));
    poses.iter().map(|from| poses.iter().map(|to| map(from, to)).collect()).collect()
}

#[test]
fn poses_that_fit_together_are_found_again() {
    let mut random = Random(2);
    let centre = Point3::new(0.0, -20.0, 15.0);
    for count in [2, 3, 6] {
        let any: Vec<AffineTransform> = (0..count).map(|_| random.rigid(0.5)).collect();
        let centres: Vec<Point3<f64>> = any.iter().map(|pose| pose.apply(&centre)).collect();
        let found = halfway(&maps_of(&any), &centres).expect("poses");
        let expected = recentred(&any, &centres).expect("poses");
        let middle = mean(&found, centre).expect("a mean");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(apart(found, expected) < 1e-9, "{found:?} {expected:?}");
        }
        assert!(disagreement_mm(&maps_of(&any), &found, &centres).expect("poses") < 1e-9);
        // The common space has moved, so its centre has, too: the mean is the identity about that centre.
        assert!((middle.matrix - Matrix3::identity()).amax() < 1e-12);
    }
}

#[test]
fn poses_of_noisy_maps_have_the_least_sum_of_squares() {
    let mut random = Random(3);
    let centre = Point3::new(0.0, -20.0, 15.0);
    let any: Vec<AffineTransform> = (0..3).map(|_| random.rigid(0.1)).collect();
    let centres: Vec<Point3<f64>> = any.iter().map(|pose| pose.apply(&centre)).collect();
    let mut maps = maps_of(&any);
    for i in 0..3 {
        for j in 0..i {
            let noise = random.rigid(1e-3);
            maps[j][i] = noise.after(&maps[j][i]);
            maps[i][j] = maps[j][i].inverse().expect("a map");
        }
    }
    let found = halfway(&maps, &centres).expect("poses");
    let cost = |poses: &[AffineTransform]| {
        let by_poses = maps_of(poses);
        let pairs = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
        pairs.map(|(i, j)| squared(&maps[i][j], &by_poses[i][j], centres[i])).sum::<f64>()
    };
    let naive = recentred(&minimised(found.clone(), cost), &centres).expect("poses");
    let most = found.iter().zip(&naive).map(|(a, b)| apart(a, b)).fold(0.0, f64::max);
    // The noise moves points by 0.05 mm. The closed form neglects products of the noise (1e-3) and of rotations (0.1):
    // 0.05 mm · 0.1.
    assert!(most < 5e-3, "{most}");
    assert!(apart(&found[0], &recentred(&any, &centres).expect("poses")[0]) > 1e-3, "the noise has an effect");
}

#[test]
fn both_directions_count_equally() {
    let mut random = Random(4);
    let (there, back) = (random.rigid(0.2), random.rigid(0.2));
    let centre = Point3::new(5.0, 6.0, 7.0);
    let one = between(&there, &back, centre).expect("a map");
    let other = between(&back, &there, one.apply(&centre)).expect("a map");
    assert!((one.matrix * other.matrix - Matrix3::identity()).amax() < 1e-12);
    let half = part_of_way(&there, &back.inverse().expect("a map"), 0.5, centre).expect("a map");
    assert!(apart(&half, &one) < 1e-12);
}

#[test]
fn the_common_grid_holds_all_and_has_their_spacing() {
    let grids =
        [Grid::axis_aligned([20, 30, 40], [1.0, 1.0, 2.0]), Grid::axis_aligned([20, 30, 40], [1.0, 1.0, 2.0])];
    let shift = |mm: f64| AffineTransform { translation: Vector3::new(mm, 0.0, 0.0), ..AffineTransform::identity() };
    let whole = [[0, 0, 0], [19, 29, 39]];
    let found = common_grid(&[(&grids[0], whole, shift(3.0)), (&grids[1], whole, shift(-3.0))], 4.0).expect("a grid");
    assert!((found.spacing - Vector3::new(1.0, 1.0, 2.0)).amax() < 1e-12);
    assert_eq!(found.shape, [19 + 6 + 8 + 1, 29 + 8 + 1, 39 + 4 + 1]);
    assert!((found.centre() - Point3::new(9.5, 14.5, 39.0)).norm() < 1e-9);
    assert_eq!(common_grid(&[], 1.0), None);
}

#[test]
fn a_fraction_of_a_warp_makes_that_share_of_the_way() {
    // The flow of x' = a·sin(x/L) has the closed form tan(x(t)/2L) = tan(x/2L)·exp(a·t/L).
    const A: f64 = 2.0;
    const L: f64 = 10.0;
    let grid = Grid::axis_aligned([64, 5, 5], [1.0; 3]);
    let flow = |x: f64, time: f64| {
        let turns = (x / (2.0 * L * std::f64::consts::PI) + 0.5).floor();
        let phase = x - turns * 2.0 * L * std::f64::consts::PI;
        2.0 * L * (((phase / (2.0 * L)).tan() * (A * time / L).exp()).atan() + turns * std::f64::consts::PI)
    };
    let field = |time: f64| {
        let vector = |n: usize| [(flow((n % 64) as f64, time) - (n % 64) as f64) as f32, 0.0, 0.0];
        DisplacementField { vectors: (0..grid.len()).map(vector).collect(), grid: grid.clone() }
    };
    for share in [0.5, 2.0 / 3.0] {
        let (found, expected) = (fraction(&field(1.0), share), field(share));
        for n in (8..56).map(|x| x + 64 * 12) {
            let apart = (found.vectors[n][0] - expected.vectors[n][0]).abs();
            // Linear interpolation of the field errs by at most a/(8·L²) = 0.0025 mm at each of the three squarings, and the
            // root of order 8 neglects (0.25 mm)²/(2·L) = 0.003 mm at most.
            assert!(apart < 0.01, "{n}: {apart}");
        }
    }
}

#[test]
fn volumes_are_integrals_of_the_determinants() {
    let grid = Grid::axis_aligned([4, 1, 1], [2.0; 3]);
    let labels = LabelVolume { voxels: vec![0, 5, 5, 9], grid: grid.clone() };
    let determinants = Volume { voxels: vec![7.0, 2.0, 0.5, -1.0], grid };
    let found = changes(&labels, &determinants).expect("one grid");
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [5, 9]);
    let five = found[&5];
    assert_eq!((five.voxels, five.volume_mm3), (2, 20.0));
    assert!(five.mean_log.abs() < 1e-12 && (five.mean_abs_log - std::f64::consts::LN_2).abs() < 1e-12);
    assert!((found[&9].mean_log - 1e-3_f64.ln()).abs() < 1e-9, "a fold");
}
