//! Tests of the comparison of patches for joint label fusion against its formulas, in double precision.

use antsreg_kernels::fusion::{FusionBackend, Images, Parameters, Patches, Scaled, shifts};
use antsreg_kernels::{Cpu, Error};
use nalgebra::{DMatrix, DVector};

/// A volume of waves and noise; equal seeds give equal volumes.
fn image(shape: [usize; 3], seed: u32) -> Vec<f32> {
    let mut state = seed;
    let count = shape.iter().product();
    let value = |n: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])].map(|at| at as f64);
        let wave = (at[0] / 2.3 + 0.2 * f64::from(seed)).sin() + (at[1] / 3.1).cos() + (at[2] / 2.7).sin();
        (300.0 * wave + 150.0 * f64::from(state >> 8) / f64::from(1 << 24)) as f32
    };
    (0..count).map(value).collect()
}

/// The intensities of a patch, normalised to mean 0 and standard deviation 1; all 0 if the patch is flat.
fn patch(voxels: &[f32], shape: [usize; 3], centre: [i32; 3], radius: i32) -> Vec<f64> {
    let place = |axis: usize, at: i32| (centre[axis] + at).clamp(0, shape[axis] as i32 - 1) as usize;
    let steps = || -radius..=radius;
    let index = |x, y, z| (place(2, z) * shape[1] + place(1, y)) * shape[0] + place(0, x);
    let all = steps().flat_map(|z| steps().flat_map(move |y| steps().map(move |x| (x, y, z))));
    let values: Vec<f64> = all.map(|(x, y, z)| f64::from(voxels[index(x, y, z)])).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let range = |pick: fn(f32, f32) -> f32| f64::from(voxels.iter().copied().reduce(pick).expect("voxels"));
    let is_flat = sd < 1e-3 * (range(f32::max) - range(f32::min));
    values.into_iter().map(|value| if is_flat { 0.0 } else { (value - mean) / sd }).collect()
}

#[test]
fn shifts_and_weights_are_those_of_the_formulas() {
    let defaults = Parameters { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0, not_negative: false };
    // Hardly any size is a multiple of the size of a block, 16 × 8 × 8 voxels.
    let cases = [
        ([18, 9, 9], 4, defaults),
        ([7, 9, 5], 11, Parameters { patch_radius: 1, search_radius: 1, alpha: 0.02, ..defaults }),
        ([18, 8, 3], 3, Parameters { search_radius: 1, beta: 1.5, not_negative: true, ..defaults }),
        ([17, 5, 1], 2, Parameters { patch_radius: 4, search_radius: 2, alpha: 0.01, ..defaults }),
    ];
    for (shape, count, parameters) in cases {
        let voxels: usize = shape.iter().product();
        let mut target = image(shape, 5);
        // The target is flat on one side.
        (0..voxels).filter(|n| n % shape[0] < 5).for_each(|n| target[n] = 100.0 + (n % 2) as f32 * 1e-3);
        let atlases: Vec<Vec<f32>> = (0..count).map(|n| image(shape, 6 + n)).collect();
        let scaled: Vec<Scaled> = atlases.iter().map(|voxels| Scaled::new(voxels)).collect();
        let images = Images { shape, target: Scaled::new(&target), atlases: &scaled };
        let set: Vec<bool> = (0..voxels).map(|n| n % 3 != 1).collect();
        let patches = Patches::around(&set, shape);
        let found = Cpu.fusion_choices(&images, &patches, &parameters).expect("choices");
        let shifts = shifts(parameters.search_radius);
        let (mut moved, mut negative) = (0, 0);
        for voxel in 0..voxels {
            let Some(number) = patches.patch_of(voxel) else { continue };
            let at = [voxel % shape[0], voxel / shape[0] % shape[1], voxel / (shape[0] * shape[1])];
            let at = at.map(|at| at as i32);
            let radius = parameters.patch_radius as i32;
            let here = patch(&target, shape, at, radius);
            let mut apart: Vec<Vec<f64>> = Vec::new();
            for (atlas, voxels) in atlases.iter().enumerate() {
                let shifted = |shift: &[i32; 3]| {
                    patch(voxels, shape, std::array::from_fn(|axis| at[axis] + shift[axis]), radius)
                };
                let score = |shift: &[i32; 3]| here.iter().zip(shifted(shift)).map(|(t, f)| t * f).sum::<f64>();
                let best = shifts.iter().map(score).fold(f64::NEG_INFINITY, f64::max);
                let chosen = usize::from(found.shift[number * atlases.len() + atlas]);
                // Single precision may choose another shift if its correlation is as large, but for rounding.
                let near = best - score(&shifts[chosen]) <= 2e-5 * here.len() as f64;
                assert!(near, "{shape:?}, voxel {voxel}, atlas {atlas}: shift {:?}", shifts[chosen]);
                assert!(chosen == 0 || here.iter().any(|value| *value != 0.0), "{shape:?}, voxel {voxel}: flat");
                moved += usize::from(chosen > 0);
                apart.push(here.iter().zip(shifted(&shifts[chosen])).map(|(t, f)| (t - f).abs()).collect());
            }
            let error = |i: usize, j: usize| {
                let products = apart[i].iter().zip(&apart[j]).map(|(i, j)| i * j);
                let mean = products.sum::<f64>() / here.len() as f64;
                mean.powf(parameters.beta) + if i == j { parameters.alpha } else { 0.0 }
            };
            let matrix = DMatrix::from_fn(atlases.len(), atlases.len(), error);
            let ones = DVector::from_element(atlases.len(), 1.0);
            let mut expected = matrix.lu().solve(&ones).expect("an inverse");
            negative += expected.iter().filter(|weight| **weight < 0.0).count();
            if parameters.not_negative {
                expected.iter_mut().for_each(|weight| *weight = weight.max(0.0));
            }
            let sum: f64 = expected.iter().sum();
            for (atlas, expected) in expected.iter().enumerate() {
                let found = f64::from(found.weight[number * atlases.len() + atlas]);
                // Patches are in single precision, and the solution of the linear system loses some of the digits.
                let near = (found - expected / sum).abs() < 2e-4;
                assert!(near, "{shape:?}, voxel {voxel}, atlas {atlas}: {found}, expected {}", expected / sum);
            }
        }
        assert!(moved > voxels / 4 && (negative > 0 || count < 3), "{shape:?}: {moved} moved, {negative} negative");
    }
}

#[test]
fn of_equal_shifts_the_first_is_taken() {
    // All patches of a constant atlas have the correlation 0.
    let shape = [18, 9, 5];
    let (target, atlas) = (image(shape, 3), vec![7.0; 810]);
    let parameters = Parameters { patch_radius: 1, search_radius: 1, alpha: 0.1, beta: 2.0, not_negative: false };
    let images = Images { shape, target: Scaled::new(&target), atlases: &[Scaled::new(&atlas)] };
    let found = Cpu.fusion_choices(&images, &Patches::around(&[true; 810], shape), &parameters).expect("choices");
    assert_eq!(found.shift, [0; 810]);
    assert_eq!(shifts(1)[0], [0; 3]);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let shape = [5, 4, 3];
    let (target, atlas) = (image(shape, 1), image(shape, 2));
    let (scaled, parameters) = (
        Scaled::new(&atlas),
        Parameters { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0, not_negative: false },
    );
    let set = vec![true; 60];
    let choose = |shape, atlases: &[Scaled], patches: &Patches, parameters: Parameters| {
        let images = Images { shape, target: Scaled::new(&target), atlases };
        Cpu.fusion_choices(&images, patches, &parameters).map(|found| found.weight)
    };
    let patches = Patches::around(&set, shape);
    assert_eq!(choose(shape, &[scaled], &patches, parameters).expect("weights"), vec![1.0; 60]);
    assert!(matches!(choose(shape, &[], &patches, parameters), Err(Error::Length { .. })));
    assert!(matches!(choose([4, 5, 3], &[scaled], &patches, parameters), Err(Error::Shape { .. })));
    let short = Scaled::new(&atlas[1..]);
    assert!(matches!(choose(shape, &[scaled, short], &patches, parameters), Err(Error::Length { .. })));
    for wrong in [
        Parameters { patch_radius: 0, ..parameters },
        Parameters { patch_radius: 9, ..parameters },
        Parameters { search_radius: 16, ..parameters },
    ] {
        assert!(matches!(choose(shape, &[scaled], &patches, wrong), Err(Error::FusionRadius { .. })));
    }
}
