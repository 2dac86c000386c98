//! Tests of the search for white matter: a synthetic brain with known tissue, and the built-in head.

use antsreg_core::{Grid, Volume};
use antsreg_heads::brain::{Contrast, Template};
use antsreg_heads::tissue::{Error, WhiteMatter, white_matter};
use nalgebra::Point3;

/// Makes a brain of ellipsoids with folded white matter on a grid of 3 mm. Returns the shaded image, the mask of the
/// brain and the mask of the white matter. `intensities` are those of fluid, grey matter and white matter.
fn made(intensities: [f64; 3]) -> [Volume; 3] {
    let mut grid = Grid::axis_aligned([54, 64, 50], [3.0; 3]);
    grid.origin = Point3::from(-grid.centre().coords);
    let [nx, ny, _] = grid.shape;
    let map = grid.voxel_to_world();
    let (mut image, mut brain, mut white) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..grid.len() {
        let p = map.apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64));
        // Distance of the point from the centre of the synthetic brain, an ellipsoid: 1 at its surface, below 1 inside.
        let radius = (p.coords.component_div(&nalgebra::Vector3::new(66.0, 84.0, 60.0))).norm();
        let folds = (p.x / 9.0).sin() + (p.y / 11.0).sin() + (p.z / 8.0).sin();
        let tissue = match radius {
            r if !(0.2..=0.94).contains(&r) => 0,
            r if r + 0.04 * folds < 0.76 => 2,
            _ => 1,
        };
        let shading = (0.2 * p.x / 66.0 - 0.15 * (p.y / 84.0).powi(2) + 0.1 * p.z / 60.0).exp();
        // The synthetic brain gets a fixed pattern of intensities as noise.
        let noise = ((n * 7919) % 101) as f64 / 10.0 - 5.0;
        let inside = radius < 1.0;
        image.push(if inside { (shading * (intensities[tissue] + noise)) as f32 } else { 0.0 });
        brain.push(f32::from(u8::from(inside)));
        white.push(f32::from(u8::from(inside && tissue == 2)));
    }
    [image, brain, white].map(|voxels| Volume { grid: grid.clone(), voxels })
}

fn dice(a: &Volume, b: &Volume) -> f64 {
    let count = |volume: &Volume| volume.voxels.iter().filter(|value| **value > 0.5).count();
    let both = a.voxels.iter().zip(&b.voxels).filter(|(a, b)| **a > 0.5 && **b > 0.5).count();
    2.0 * both as f64 / (count(a) + count(b)) as f64
}

#[test]
fn the_white_matter_of_a_shaded_brain_is_found() {
    let [image, brain, truth] = made([40.0, 80.0, 110.0]);
    let found = white_matter(&image, &brain).expect("three tissues");
    assert!(dice(&found.mask, &truth) > 0.95, "{} {:?}", dice(&found.mask, &truth), found.mixture);
    let ml = truth.voxels.iter().map(|white| f64::from(*white)).sum::<f64>() * 0.027;
    assert!((found.volume_ml / ml - 1.0).abs() < 0.05, "{} for {ml} mL", found.volume_ml);
}

#[test]
fn the_white_matter_of_the_built_in_head_is_where_it_is_in_every_brain() {
    let template = Template::built_in(Some(Contrast::T1)).expect("undamaged");
    let found = white_matter(template.head(), template.brain()).expect("a T1-weighted head");
    assert!(WhiteMatter::PLAUSIBLE_ML.contains(&found.volume_ml), "{} mL", found.volume_ml);
    let at = |mm: [f64; 3]| {
        let index = found.mask.grid.world_to_voxel().apply(&Point3::from(mm)).map(|c| c.round() as usize);
        let [nx, ny, _] = found.mask.grid.shape;
        found.mask.voxels[(index.z * ny + index.y) * nx + index.x] > 0.5
    };
    // These points must be white matter: semioval centre of both hemispheres, genu and splenium of the corpus callosum.
    for mm in [[-26.0, -20.0, 36.0], [26.0, -20.0, 36.0], [0.0, 28.0, 8.0], [0.0, -38.0, 12.0]] {
        assert!(at(mm), "{mm:?}");
    }
    // These points must not be white matter: lateral ventricle, head of the caudate nucleus, and a point outside the
    // brain.
    for mm in [[-9.5, 10.0, 12.0], [-12.0, 14.0, 8.0], [0.0, 95.0, 0.0]] {
        assert!(!at(mm), "{mm:?}");
    }
}

#[test]
fn images_that_are_not_t1_weighted_are_refused() {
    let template = Template::built_in(None).expect("undamaged");
    for (contrast, head) in &template.heads()[1..] {
        let refused = white_matter(head, template.brain());
        assert!(
            matches!(refused, Err(Error::AtSurface { .. } | Error::NoContrast { .. })),
            "{contrast}: {refused:?}"
        );
    }
    // In this synthetic image, fluid is brightest and white matter is darkest.
    let [image, brain, _] = made([110.0, 80.0, 40.0]);
    assert!(matches!(white_matter(&image, &brain), Err(Error::AtSurface { .. } | Error::NoContrast { .. })));
    let flat = Volume { voxels: brain.voxels.iter().map(|mask| 5.0 * mask).collect(), grid: brain.grid.clone() };
    assert!(matches!(white_matter(&flat, &brain), Err(Error::Bias(_))));
    let empty = Volume::filled(brain.grid.clone(), 0.0);
    assert!(matches!(white_matter(&image, &empty), Err(Error::FewVoxels { found: 0, .. })));
}
