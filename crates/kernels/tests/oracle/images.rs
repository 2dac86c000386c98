use std::io::Read;

use antsreg_kernels::ops::{Intensity, Memory, Warping};
use antsreg_kernels::{Cpu, DistanceLimits, Error, PROFILE_BINS, Sampling};

use super::naive::{self, apply, index, trilinear, within_half_a_voxel};
use super::scene::{self, SHAPES, voxels};
use super::warped::Warped;
use super::worst;

/// Tolerance of interpolated intensities. Coordinates up to 70 in single precision have errors of 4e-6 voxel, and
/// neighbouring voxels differ by up to 1.
const INTERPOLATION: f64 = 5e-5;

#[test]
fn smooth_is_the_convolution() {
    for shape in SHAPES {
        let voxels = scene::image(shape, 1);
        let sigmas = [1.3, 0.0, 2.1];
        let smoothed = Cpu.smooth(&Cpu.upload(shape, &voxels).unwrap(), sigmas).unwrap();
        let double: Vec<f64> = voxels.iter().copied().map(f64::from).collect();
        let expected = naive::smooth(&double, shape, sigmas.map(|s| s * s));
        // The tolerance is the rounding error of three successive weighted sums of at most 25 values of at most 1.
        assert!(worst(&Cpu.download(&smoothed).unwrap(), expected) < 2e-6, "shape {shape:?}");
    }
}

#[test]
fn smoothing_spreads_single_voxels_among_zeros() {
    for shape in SHAPES {
        let mut voxels = vec![0.0_f32; shape.iter().product()];
        let [nx, ny, nz] = shape;
        for (at, value) in [([0, 0, 0], 3.0), ([nx / 2, ny / 2, nz / 2], 5.0), ([nx - 1, ny / 2, nz - 1], -2.0)] {
            voxels[at[0] + nx * (at[1] + ny * at[2])] = value;
        }
        let sigmas = [1.5, 0.8, 1.1];
        let smoothed = Cpu.smooth(&Cpu.upload(shape, &voxels).unwrap(), sigmas).unwrap();
        let double: Vec<f64> = voxels.iter().map(|v| f64::from(*v)).collect();
        let expected = naive::smooth(&double, shape, sigmas.map(|s| s * s));
        let error = worst(&Cpu.download(&smoothed).unwrap(), expected);
        // The tolerance is the rounding error of three successive weighted sums of values of at most 5.
        assert!(error < 1e-6, "{shape:?}: {error}");
    }
}

#[test]
fn signed_distances_are_those_of_a_search_among_all_voxels() {
    let distance = |set: &[f32], shape, spacing, limits| {
        Cpu.download(&Cpu.signed_distance(&Cpu.upload(shape, set).unwrap(), spacing, limits).unwrap()).unwrap()
    };
    let wide = DistanceLimits { inside_mm: 100.0, outside_mm: 100.0 };
    let narrow = DistanceLimits { inside_mm: 2.0, outside_mm: 2.5 };
    // The CPU computes 64 voxels along the first axis together.
    for shape in [[7, 6, 5], [1, 6, 5], [9, 5, 1], [70, 3, 4]] {
        // Single voxels, and beyond a plane all voxels.
        let is_inside = |[x, y, z]: [usize; 3]| (x + 7 * y + 42 * z) * 31 % 37 < 9 || x > shape[0] / 2 + 1;
        let set: Vec<f32> = voxels(shape).map(|voxel| if is_inside(voxel) { 0.51 } else { 0.49 }).collect();
        for (spacing, limits) in [([1.0; 3], wide), ([1.0, 1.5, 3.0], wide), ([1.0, 1.5, 3.0], narrow)] {
            let expected = voxels(shape).map(|voxel| {
                let to = |other: [usize; 3]| {
                    let mm = |axis: usize| (voxel[axis] as f64 - other[axis] as f64) * spacing[axis];
                    (0..3).map(|axis| mm(axis).powi(2)).sum::<f64>().sqrt()
                };
                let others = voxels(shape).filter(|other| is_inside(*other) != is_inside(voxel));
                let nearest = others.map(to).fold(f64::INFINITY, f64::min);
                match is_inside(voxel) {
                    true => nearest.min(limits.inside_mm.into()),
                    false => -nearest.min(limits.outside_mm.into()),
                }
            });
            // The tolerance is the rounding error of distances of at most 100 mm.
            let error = worst(&distance(&set, shape, spacing, limits), expected);
            assert!(error < 2e-5, "shape {shape:?}, spacing {spacing:?}, {limits:?}: {error}");
        }
        let all = |value: f32| distance(&vec![value; shape.iter().product()], shape, [1.0; 3], narrow);
        assert!(all(0.5).iter().all(|mm| *mm == -2.5) && all(1.0).iter().all(|mm| *mm == 2.0), "{shape:?}");
    }
}

#[test]
fn gradient_magnitude_is_per_finest_spacing() {
    for shape in SHAPES.into_iter().chain([[1, 6, 5]]) {
        let image = scene::image(shape, 9);
        for (spacing, shares) in [([1.0; 3], [1.0; 3]), ([2.0, 0.5, 1.0], [0.25, 1.0, 0.5])] {
            let found = Cpu.gradient_magnitude(&Cpu.upload(shape, &image).unwrap(), spacing).unwrap();
            let expected = voxels(shape).map(|voxel| {
                let gradient = naive::gradient(&image, shape, voxel);
                (0..3).map(|axis| (gradient[axis] * shares[axis]).powi(2)).sum::<f64>().sqrt()
            });
            // The tolerance is the rounding error of differences of values of at most 1 in single precision.
            assert!(worst(&Cpu.download(&found).unwrap(), expected) < 1e-6, "shape {shape:?}, spacing {spacing:?}");
        }
    }
}

#[test]
fn gradient_profile_is_the_mean_of_the_magnitudes_in_each_bin() {
    for shape in SHAPES.into_iter().chain([[1, 6, 5]]) {
        let mut image: Vec<f32> = scene::image(shape, 9).into_iter().map(|value| value * 1.2 - 0.1).collect();
        image[3] = f32::NAN;
        for (spacing, shares) in [([1.0; 3], [1.0; 3]), ([2.0, 0.5, 1.0], [0.25, 1.0, 0.5])] {
            let found = Cpu.gradient_profile(&Cpu.upload(shape, &image).unwrap(), spacing).unwrap();
            let mut bins = vec![Vec::new(); PROFILE_BINS];
            for voxel in voxels(shape) {
                let gradient = naive::gradient(&image, shape, voxel);
                let magnitude = (0..3).map(|axis| (gradient[axis] * shares[axis]).powi(2)).sum::<f64>().sqrt();
                let value = image[index(shape, voxel)];
                if !value.is_nan() && !magnitude.is_nan() {
                    bins[((value * PROFILE_BINS as f32) as usize).min(PROFILE_BINS - 1)].push(magnitude);
                }
            }
            for (found, expected) in found.iter().zip(&bins) {
                let mean = expected.iter().sum::<f64>() / expected.len().max(1) as f64;
                // Magnitudes have steps of 2⁻²⁰, and differences of values of about 1 are rounded to single precision.
                let same = found.voxels as usize == expected.len() && (found.gradient - mean).abs() < 2e-6;
                assert!(same, "shape {shape:?}, spacing {spacing:?}: {found:?}, expected {mean}");
            }
            assert!(bins.iter().filter(|bin| !bin.is_empty()).count() > PROFILE_BINS / 8, "{shape:?}: few bins");
        }
    }
}

#[test]
fn intensities_follow_a_curve_that_is_linear_between_its_points() {
    let shape = SHAPES[0];
    let values: Vec<f32> = scene::image(shape, 9).into_iter().map(|value| value * 1.4 - 0.2).collect();
    let curve = [0.5, 0.25, 0.75, 2.0, -1.0];
    let mut image = Cpu.upload(shape, &values).unwrap();
    Cpu.map_intensities(&mut image, &curve).unwrap();
    let expected = values.iter().map(|value| {
        let at = f64::from(value.clamp(0.0, 1.0)) * 4.0;
        let below = at.floor().min(3.0);
        let [from, to] = [0, 1].map(|next| f64::from(curve[below as usize + next]));
        from + (at - below) * (to - from)
    });
    // The tolerance is the rounding error of positions on a curve whose steepest piece falls by 3.
    assert!(worst(&Cpu.download(&image).unwrap(), expected) < 2e-6);
    let mut strange = Cpu.upload([3, 1, 1], &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]).unwrap();
    Cpu.map_intensities(&mut strange, &curve).unwrap();
    let strange = Cpu.download(&strange).unwrap();
    assert!(strange[0].is_nan() && strange[1..] == [-1.0, 0.5]);
    for curve in [&[][..], &[1.0]] {
        assert!(matches!(Cpu.map_intensities(&mut image, curve), Err(Error::Curve { .. })));
    }
}

#[test]
fn resample_reads_between_voxels_and_knows_where_the_image_ends() {
    let map = scene::oblique_map();
    for shape in SHAPES {
        let voxels_in = scene::image(shape, 2);
        let out_shape = [31, 29, 7];
        let mut out = Cpu.image(out_shape).unwrap();
        Cpu.resample(&Cpu.upload(shape, &voxels_in).unwrap(), &map, -0.25, &mut out).unwrap();
        let mut outside = 0;
        let found = Cpu.download(&out).unwrap();
        for voxel in voxels(out_shape) {
            let point = apply(&map, voxel.map(|i| i as f64));
            let near_the_end = (0..3).any(|axis| {
                let end = shape[axis] as f64 - 0.5;
                (point[axis] + 0.5).abs() < 1e-4 || (point[axis] - end).abs() < 1e-4
            });
            if near_the_end {
                continue;
            }
            let expected = if within_half_a_voxel(shape, point) {
                trilinear(&voxels_in, shape, point)
            } else {
                outside += 1;
                -0.25
            };
            let found = f64::from(found[index(out_shape, voxel)]);
            assert!((found - expected).abs() < INTERPOLATION, "{found} for {expected} at {voxel:?} of {shape:?}");
        }
        assert!(outside > 100, "the map should lead outside somewhere");
    }
}

#[test]
fn warp_goes_through_the_field_first() {
    let warped = Warped::new();
    for shape in SHAPES {
        let voxels = scene::image(shape, 3);
        let image = Cpu.upload(shape, &voxels).unwrap();
        for sampling in [Sampling::Linear, Sampling::Nearest] {
            let warp = |warped: &Warped, out: &mut _| {
                Cpu.warp(&image, &warped.field, &warped.map, sampling, out).unwrap();
            };
            warped.check(shape, INTERPOLATION, warp, |point| match sampling {
                Sampling::Linear => trilinear(&voxels, shape, point),
                Sampling::Nearest => f64::from(voxels[index(shape, point.map(|p| p.round() as usize))]),
            });
        }
    }
}

#[test]
fn wrong_shapes_are_refused() {
    let image = Cpu.image([4, 5, 6]).unwrap();
    let field = Cpu.field([4, 5, 6]).unwrap();
    let mut out = Cpu.image([5, 4, 6]).unwrap();
    let error = Cpu.warp(&image, &field, &scene::oblique_map(), Sampling::Linear, &mut out).unwrap_err();
    assert!(matches!(error, Error::Shape { expected: [4, 5, 6], found: [5, 4, 6], .. }), "{error}");
    let error = Cpu.upload([2, 2, 2], &[0.0; 7]).unwrap_err();
    assert!(matches!(error, Error::Length { expected: 8, found: 7, .. }), "{error}");
}

#[test]
fn clipped_values_keep_to_the_range_and_are_rescaled() {
    let voxels = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -7.5, -2.0, 0.0, 3.25, 9.0, 9.5, 40.0];
    let mut image = Cpu.upload([5, 1, 2], &voxels).unwrap();
    Cpu.clip(&mut image, (-2.0, 9.0), -2.0, 0.5).unwrap();
    let found = Cpu.download(&image).unwrap();
    assert!(found[0].is_nan());
    assert_eq!(found[1..], [5.5, 0.0, 0.0, 0.0, 1.0, 2.625, 5.5, 5.5, 5.5]);
}

#[test]
fn quantiles_are_of_the_finite_voxels() {
    let voxels = [f32::NAN, 3.0, f32::INFINITY, 1.0, f32::NEG_INFINITY, 2.0];
    let found = Cpu.quantiles(&Cpu.upload([3, 2, 1], &voxels).unwrap(), 0.25, 1.0).unwrap();
    assert_eq!((found.finite, found.low_high), (3, Some((1.5, 3.0))));
    let found = Cpu.quantiles(&Cpu.upload([1, 1, 1], &[f32::NAN]).unwrap(), 0.0, 1.0).unwrap();
    assert_eq!((found.finite, found.low_high), (0, None));
}

#[test]
fn foreground_quantiles_are_of_the_voxels_that_are_not_background() {
    let shape = [9, 8, 7];
    let voxels: Vec<f32> = (0..504).map(|n| if n % 3 == 0 { 40.0 + (n * 29 % 97) as f32 } else { 7.0 }).collect();
    let mut foreground: Vec<f64> =
        voxels.iter().filter(|value| **value != 7.0).map(|value| f64::from(*value)).collect();
    foreground.sort_by(f64::total_cmp);
    let rank = 0.9 * (foreground.len() - 1) as f64;
    let (below, above) = (foreground[rank.floor() as usize], foreground[rank.ceil() as usize]);
    let found = Cpu.foreground_quantiles(&Cpu.upload(shape, &voxels).unwrap(), 0.1, 0.9).unwrap();
    let (low, high) = found.low_high.unwrap();
    assert_eq!((found.finite, low), (504, 7.0));
    assert!((f64::from(high) - (below + rank.fract() * (above - below))).abs() < 1e-5, "{high}");
}

#[test]
fn two_images_are_warped_each_through_its_own_field() {
    let shape = [11, 9, 7];
    let images = SHAPES.map(|shape| Cpu.upload(shape, &scene::image(shape, 3)).unwrap());
    let fields = [4, 5].map(|seed| Cpu.upload_field(shape, &scene::rough_field(shape, 3.0, seed)).unwrap());
    let mut other_map = scene::oblique_map();
    other_map.translation.x += 1.5;
    let maps = [&scene::oblique_map(), &other_map];
    let (mut first, mut second) = (Cpu.image(shape).unwrap(), Cpu.image(shape).unwrap());
    Cpu.warp_both([&images[0], &images[1]], fields.each_ref(), maps, Sampling::Linear, [&mut first, &mut second])
        .unwrap();
    for (side, found) in [first, second].iter().enumerate() {
        let mut alone = Cpu.image(shape).unwrap();
        Cpu.warp(&images[side], &fields[side], maps[side], Sampling::Linear, &mut alone).unwrap();
        let found = Cpu.download(found).unwrap();
        assert_eq!(found, Cpu.download(&alone).unwrap());
        assert!(found.iter().any(|value| *value != 0.0));
    }
}

#[test]
fn compressed_images_unpack_to_their_voxels() {
    for shape in SHAPES {
        let voxels: Vec<f32> = scene::rough_field(shape, 2.5, 8).iter().map(|vector| vector[0].max(0.0)).collect();
        let found = Cpu.deflate_image(&Cpu.upload(shape, &voxels).unwrap()).unwrap();
        let mut bytes = Vec::new();
        flate2::read::DeflateDecoder::new(found.bytes.as_slice()).read_to_end(&mut bytes).unwrap();
        assert!(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).eq(voxels), "shape {shape:?}");
        assert_eq!(found.count, shape.iter().product::<usize>());
    }
}
