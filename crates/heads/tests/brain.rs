//! Tests of brain extraction: synthetic heads, and the built-in head at other positions.

use std::sync::Arc;

use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_heads::brain::{self, BrainWarning, Contrast, Error, Extraction, Kind, Template, kind, without_skull};
use antsreg_kernels::apply::{Interpolation, resample};
use antsreg_register::Device;
use nalgebra::{Point3, Rotation3, Vector3};

/// Makes a grid for a synthetic head with this voxel size, mm. The origin of world coordinates is the centre of the
/// grid.
fn head_grid(spacing: [f64; 3]) -> Grid {
    let shape = spacing.map(|mm| (240.0 / mm) as usize);
    let mut grid = Grid::axis_aligned(shape, spacing);
    grid.origin = Point3::from(-grid.centre().coords);
    grid
}

/// Makes an affine from points of a head to points of the synthetic head: a rotation about x, y and z in degrees, a
/// scale, and a shift in mm.
fn placed(degrees: [f64; 3], scale: f64, shift: [f64; 3]) -> AffineTransform {
    let [x, y, z] = degrees.map(f64::to_radians);
    let rotation = Rotation3::from_euler_angles(x, y, z).into_inner();
    AffineTransform { matrix: rotation * scale, translation: shift.into() }
}

/// Makes a synthetic head of ellipsoids around the origin, and its brain mask. The head has grey and white matter,
/// fluid, skull, scalp, and a neck.
fn made(grid: &Grid, place: &AffineTransform) -> (Volume, Volume) {
    let map = place.after(&grid.voxel_to_world());
    let [nx, ny, _] = grid.shape;
    let at = |n: usize| {
        let p = map.apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64));
        // Size of the ellipsoid through the point, relative to the ellipsoid of the brain.
        let radius = Vector3::new(p.x / 66.0, p.y / 84.0, p.z / 60.0).norm();
        let folds = (p.x / 13.0).sin() + (p.y / 17.0).sin() + (p.z / 11.0).sin();
        let value = match radius {
            r if r + folds * 0.03 < 0.75 => 100.0,
            r if r < 1.0 => 70.0,
            r if r < 1.06 => 20.0,
            r if r < 1.14 => 8.0,
            r if r < 1.26 => 120.0,
            _ if p.z < -50.0 && Vector3::new(p.x / 45.0, (p.y + 20.0) / 50.0, 0.0).norm() < 1.0 => 80.0,
            _ => 0.0,
        };
        // The synthetic head gets a fixed pattern of intensities as noise.
        (value + ((n * 7919) % 101) as f32 / 25.0, if radius < 1.0 { 1.0 } else { 0.0 })
    };
    let (head, brain) = (0..grid.len()).map(at).unzip();
    (Volume { grid: grid.clone(), voxels: head }, Volume { grid: grid.clone(), voxels: brain })
}

fn dice(a: &Volume, b: &Volume) -> f64 {
    let count = |volume: &Volume| volume.voxels.iter().filter(|value| **value > 0.5).count();
    let both = a.voxels.iter().zip(&b.voxels).filter(|(a, b)| **a > 0.5 && **b > 0.5).count();
    2.0 * both as f64 / (count(a) + count(b)) as f64
}

fn extract(head: Volume, template: &Template) -> Result<Extraction, Error> {
    brain::extract(&Arc::new(head), template, Device::cpu(), &mut ())
}

/// Mean distance, in mm, between the points to which two affines map the same points: the corners of a cube about as
/// large as a head.
fn apart(a: &AffineTransform, b: &AffineTransform) -> f64 {
    let corners =
        (0..8).map(|n| Point3::from(Vector3::new(n & 1, n >> 1 & 1, n >> 2).map(|s| f64::from(s) * 100.0 - 50.0)));
    corners.map(|point| (a.apply(&point) - b.apply(&point)).norm()).sum::<f64>() / 8.0
}

#[test]
fn the_brain_of_a_made_head_is_found_by_another_one() {
    let (head, mask) = made(&head_grid([4.0; 3]), &AffineTransform::identity());
    let template = Template::new(head, mask).expect("one grid");
    let place = placed([15.0, -10.0, 20.0], 1.05, [6.0, -8.0, 5.0]);
    let (head, truth) = made(&head_grid([3.0, 3.0, 4.0]), &place);
    let found = extract(head, &template).expect("a head");
    assert!(dice(&found.mask, &truth) > 0.95, "{}", dice(&found.mask, &truth));
    // Registration of ellipsoids hardly determines a rotation by a few degrees, so an error of up to 8 mm is accepted.
    assert!(apart(&found.head_to_template, &place) < 8.0, "{}", apart(&found.head_to_template, &place));
    assert_eq!(found.contrast, Contrast::Given);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    // Expected: the probability is at least one half at voxels in the mask, and lower at all other voxels.
    for (mask, share) in found.mask.voxels.iter().zip(&found.probability.voxels) {
        assert!((0.0..=1.0).contains(share) && (*mask > 0.5) == (*share >= 0.5), "{mask} and {share}");
    }
}

#[test]
fn the_built_in_head_is_one_head_in_three_contrasts() {
    let template = Template::built_in(None).expect("undamaged");
    let contrasts: Vec<Contrast> = template.heads().iter().map(|(contrast, _)| *contrast).collect();
    assert_eq!(contrasts, [Contrast::T1, Contrast::T2, Contrast::Pd]);
    let cm3 = template.brain().voxels.iter().map(|share| f64::from(*share)).sum::<f64>() * 8.0 / 1000.0;
    assert!((1850.0..1950.0).contains(&cm3), "{cm3} cm³");
    // In T1, the lateral ventricle (`fluid`) is darker than the white matter beside it; in T2, the ventricle is
    // brighter.
    let at = |volume: &Volume, mm: [f64; 3]| {
        let index = volume.grid.world_to_voxel().apply(&Point3::from(mm)).map(|c| c.round() as usize);
        volume.voxels[(index.z * volume.grid.shape[1] + index.y) * volume.grid.shape[0] + index.x]
    };
    let [t1, t2, _] = [0, 1, 2].map(|n| template.heads()[n].1.as_ref());
    let (fluid, white) = ([-9.5, 10.0, 12.0], [-26.5, 20.0, 20.0]);
    assert!(at(t1, fluid) < at(t1, white), "{} {}", at(t1, fluid), at(t1, white));
    assert!(at(t2, fluid) > at(t2, white), "{} {}", at(t2, fluid), at(t2, white));
    let one = Template::built_in(Some(Contrast::Pd)).expect("undamaged");
    assert_eq!(one.heads().len(), 1);
    assert!(matches!(Template::built_in(Some(Contrast::Given)), Err(Error::NoContrast(Contrast::Given))));
}

#[test]
fn another_contrast_in_another_place_is_found() {
    let template = Template::built_in(None).expect("undamaged");
    let place = placed([25.0, 5.0, -10.0], 0.95, [-4.0, 10.0, 20.0]);
    let chain = TransformChain::from(vec![Transform::Affine(place)]);
    let onto = |volume| resample(volume, &head_grid([3.0; 3]), &chain, Interpolation::Linear, 0.0);
    let (head, truth) = (onto(&template.heads()[1].1), onto(template.brain()));
    let found = extract(head, &template).expect("a head");
    assert_eq!(found.contrast, Contrast::T2);
    assert!(dice(&found.mask, &truth) > 0.95, "{}", dice(&found.mask, &truth));
    assert!(apart(&found.head_to_template, &place) < 1.0, "{}", apart(&found.head_to_template, &place));
}

#[test]
fn a_shaded_head_whose_bottom_is_cut_off_is_found() {
    let (head, mask) = made(&head_grid([4.0; 3]), &AffineTransform::identity());
    let template = Template::new(head, mask).expect("one grid");
    let mut grid = head_grid([3.0, 3.0, 4.0]);
    // The lower end of the brain is at z = -60 mm, and that of this grid at z = -38 mm: the image does not contain the
    // lower part of the brain.
    let count = grid.shape[2];
    grid.shape[2] = 40;
    grid.origin.z += 4.0 * (count - 40) as f64;
    let (mut head, truth) = made(&grid, &AffineTransform::identity());
    let [nx, ny, nz] = grid.shape;
    for (n, value) in head.voxels.iter_mut().enumerate() {
        let at = |n: usize, length: usize| 2.0 * n as f64 / (length - 1) as f64 - 1.0;
        let [x, y, z] = [at(n % nx, nx), at(n / nx % ny, ny), at(n / nx / ny, nz)];
        *value *= (1.0 + 0.4 * (2.0 * x + 0.5).sin() * (1.5 * y - 0.3).cos() * z.cos()) as f32;
    }
    let found = extract(head, &template).expect("a head");
    assert!(dice(&found.mask, &truth) > 0.96, "{}", dice(&found.mask, &truth));
    assert!(
        found.warnings.iter().any(|warning| matches!(warning, BrainWarning::CutOff { .. })),
        "{:?}",
        found.warnings
    );
}

#[test]
fn what_is_no_head_or_no_template_is_refused() {
    let (head, mask) = made(&head_grid([8.0; 3]), &AffineTransform::identity());
    let template = Template::new(head.clone(), mask.clone()).expect("one grid");
    let slice = Volume::filled(Grid::axis_aligned([30, 30, 1], [8.0; 3]), 1.0);
    assert!(matches!(extract(slice, &template), Err(Error::Slice([30, 30, 1]))));
    let none = Volume::filled(head.grid.clone(), 0.0);
    assert!(matches!(Template::new(head.clone(), none), Err(Error::TemplateEmpty)));
    let other = Volume::filled(Grid::axis_aligned([3, 4, 5], [8.0; 3]), 1.0);
    assert!(matches!(Template::new(head, other), Err(Error::TemplateGrid { .. })));
}

#[test]
fn heads_and_brains_are_told_apart() {
    let template = Template::built_in(None).expect("undamaged");
    for (contrast, head) in template.heads() {
        assert_eq!(kind(head), Kind::Head, "{contrast}");
        assert_eq!(kind(&without_skull(head, template.brain())), Kind::Brain, "{contrast}");
    }
    // Expected: an image of a head with noise in its background is classified as a head. An image of only the top of a
    // brain is classified as unclear.
    let (head, mask) = made(&head_grid([4.0, 2.0, 3.0]), &AffineTransform::identity());
    assert_eq!(kind(&head), Kind::Head);
    let mut top = without_skull(&head, &mask);
    let count = top.voxels.len() * 5 / 8;
    top.voxels[..count].fill(0.0);
    assert_eq!(kind(&top), Kind::Unclear);
    assert_eq!(kind(&Volume::filled(Grid::axis_aligned([60, 60, 1], [4.0; 3]), 1.0)), Kind::Unclear);
    assert_eq!(kind(&Volume::filled(head.grid, 1.0)), Kind::Unclear);
}

#[test]
fn a_brain_stands_in_removed_voxels() {
    let template = Template::built_in(Some(Contrast::T1)).expect("undamaged");
    let (head, brain) = (template.head(), template.brain());
    // Tissue outside the brain that is nearly black: the bright object is the brain, but no voxels were removed around it.
    let mut dark = head.as_ref().clone();
    dark.voxels
        .iter_mut()
        .zip(&brain.voxels)
        .filter(|(_, share)| **share <= 0.5)
        .for_each(|(value, _)| *value *= 0.05);
    assert_eq!(kind(&dark), Kind::Unclear);
}
