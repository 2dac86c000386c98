//! Tests that the costs of several transforms are equal whether they are computed in one call or one by one.

use antsreg_core::AffineTransform;
use antsreg_kernels::ops::{Memory, Similarity, Warping};
use antsreg_kernels::{Cpu, JointParameters, JointSampling};
use nalgebra::{Rotation3, Vector3};

use super::scene;

const FIXED: [usize; 3] = [20, 17, 12];
const MOVING: [usize; 3] = [30, 28, 26];

/// Test image: noise in the middle of a constant volume. The constant has many binary digits, so sums of its square are
/// rounded.
fn island(shape: [usize; 3], seed: u64) -> Vec<f32> {
    let [nx, ny, nz] = shape;
    let inside = |at: usize, n: usize| (n / 3..2 * n / 3).contains(&at);
    let noise = scene::image(shape, seed);
    let at = |n: usize| inside(n % nx, nx) && inside(n / nx % ny, ny) && inside(n / (nx * ny), nz);
    noise.iter().enumerate().map(|(n, value)| if at(n) { *value } else { 0.3 }).collect()
}

#[test]
fn a_cost_does_not_depend_on_the_others_of_its_call() {
    let fixed = Cpu.upload(FIXED, &island(FIXED, 41)).unwrap();
    let moving = Cpu.upload(MOVING, &island(MOVING, 42)).unwrap();
    let bins = Cpu.bin_fixed(&fixed, None, (0.0, 1.0), 16).unwrap();
    let maps: Vec<AffineTransform> = (0..5)
        .map(|n| {
            let matrix = Rotation3::from_euler_angles(0.1 * f64::from(n), 0.05, -0.07 * f64::from(n)).into_inner();
            AffineTransform { matrix, translation: Vector3::new(5.1, 4.6, f64::from(n)) }
        })
        .collect();
    let parameters = JointParameters { sampling: JointSampling::Trilinear, bins: 16, low_high: (0.0, 1.0) };
    let all = |maps: &[AffineTransform]| {
        let ratio = Cpu.correlation_ratio(&bins, &moving, None, [1.0; 3], maps).unwrap();
        let entropies = Cpu.joint_entropies(&bins, &moving, None, [1.0; 3], &parameters, maps).unwrap();
        let moments = Cpu.moments(&fixed, &moving, [None; 2], [(0.0, 1.0); 2], [1.0; 3], maps).unwrap();
        let of_pairs = entropies.iter().map(|found| found.joint).zip(moments.iter().map(|found| found.moving_moving));
        ratio.iter().zip(of_pairs).map(|(ratio, (joint, moment))| [*ratio, joint, moment]).collect::<Vec<_>>()
    };
    let together = all(&maps);
    let alone: Vec<[f64; 3]> = maps.iter().flat_map(|map| all(std::slice::from_ref(map))).collect();
    assert_eq!(together, alone);
    assert!(together.windows(2).all(|pair| pair[0] != pair[1]), "{together:?}");
}

#[test]
fn an_image_that_was_written_has_another_backdrop() {
    let fixed = Cpu.upload(FIXED, &scene::image(FIXED, 43)).unwrap();
    let bins = Cpu.bin_fixed(&fixed, None, (0.0, 1.0), 16).unwrap();
    let identity = [AffineTransform::identity()];
    let cost =
        |moving: &<Cpu as Memory>::Image| Cpu.correlation_ratio(&bins, moving, None, [1.0; 3], &identity).unwrap()[0];
    let mut moving = Cpu.upload(FIXED, &vec![0.3; FIXED.iter().product()]).unwrap();
    assert_eq!(cost(&moving), 1.0, "of a constant image");
    Cpu.resample(&fixed, &identity[0], 0.0, &mut moving).unwrap();
    assert!(cost(&moving) < 0.1, "{} of an image with itself", cost(&moving));
}
