//! Tests of images whose voxels are on a device, and of registration results that stay on a device. They must equal
//! images and results in main memory.

use antsreg_core::io::Deflated;
use antsreg_core::{DisplacementField, Grid, Volume};
use antsreg_kernels::Place;
use antsreg_register::{Device, Fixed, Image, Options, Preset, Recipe, Registered, Side, register};
use nalgebra::Point3;

/// Makes a test image: blobs in a box, shifted along x by `shift` mm.
fn volume(shift: f64) -> Volume {
    let grid = Grid::axis_aligned([24, 22, 20], [3.0; 3]);
    let centre = grid.centre();
    let blob = |at: &Point3<f64>, x: f64, y: f64, z: f64, mm: f64| {
        let from = at - centre - nalgebra::Vector3::new(x + shift, y, z);
        (-from.norm_squared() / (2.0 * mm * mm)).exp()
    };
    let value = |n: usize| {
        let at = Point3::new((n % 24) as f64, (n / 24 % 22) as f64, (n / (24 * 22)) as f64);
        let at = grid.voxel_to_world().apply(&at);
        let all = blob(&at, 0.0, 0.0, 0.0, 14.0) + 0.7 * blob(&at, 9.0, 6.0, -3.0, 5.0)
            - 0.4 * blob(&at, -8.0, 2.0, 6.0, 4.0);
        (100.0 * all) as f32
    };
    Volume { voxels: (0..grid.len()).map(value).collect(), grid }
}

fn options(volume: &Volume) -> Options {
    Recipe::new(Preset::Fast).options(volume.grid.shape).expect("the preset suits the image")
}

#[test]
fn images_on_the_device_give_the_same_bits() {
    let (device, volumes) = (Device::cpu(), [volume(0.0), volume(4.0)]);
    let options = options(&volumes[0]);
    let held = volumes.each_ref().map(|volume| Image::uploaded(&device, volume).expect("finite voxels"));
    assert!(held.iter().all(|image| image.place() == Some(Place::Main) && image.in_main_memory().is_none()));
    let run = |[fixed, moving]: [Side; 2]| {
        register(&fixed, &moving, &options, &device, &mut ()).and_then(Registered::finish).expect("they register")
    };
    let usual = run(volumes.clone().map(Side::from));
    let found = run(held.clone().map(Side::from));
    assert_eq!(found.affine, usual.affine);
    assert_eq!(found.warp(), usual.warp());
    assert_eq!(found.warped.map(|image| image.voxels), usual.warped.map(|image| image.voxels));
    assert_eq!(held[0].volume().expect("downloaded").voxels, volumes[0].voxels);
    let range = volumes[0].voxels.iter().fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    assert_eq!(held[0].range(), Some(range));
}

#[test]
fn results_that_stay_are_the_same_when_they_are_downloaded() {
    let (device, sides) = (Device::cpu(), [volume(0.0), volume(4.0)].map(Side::from));
    let ([fixed, moving], options) = (sides.each_ref(), options(sides[0].image.volume().expect("in main memory")));
    let usual =
        register(fixed, moving, &options, &device, &mut ()).and_then(Registered::finish).expect("they register");
    let prepared = Fixed::new(&device, fixed.clone(), options.clone()).expect("it is prepared");
    for resident in [register(fixed, moving, &options, &device, &mut ()), prepared.register(moving, &mut ())] {
        let resident = resident.and_then(Registered::keep).expect("they register");
        let outline = resident.outline().finish([fixed, moving], &options).expect("an outline");
        assert!(outline.warp().is_none() && outline.warped.is_none());
        assert_eq!((outline.affine, &outline.outcomes), (usual.affine, &usual.outcomes));
        let computed = resident.download().expect("it is there");
        let found = computed.finish([fixed, moving], &options).expect("it is whole");
        assert_eq!((found.warp(), found.inverse_warp()), (usual.warp(), usual.inverse_warp()));
        assert_eq!(found.coverage, usual.coverage);
        let shape = fixed.grid().shape;
        let warp = resident.warp().expect("it is there").expect("a deformable stage");
        assert_eq!((warp.shape(), warp.place()), (&[shape[0], shape[1], shape[2], 3][..], Place::Main));
        assert_eq!(warp.strides(), [3, 3 * shape[0], 3 * shape[0] * shape[1], 1]);
        let warped = resident.warped().expect("it is there").expect("it was requested");
        assert_eq!((warped.shape(), warped.strides()), (&shape[..], &[1, shape[0], shape[0] * shape[1]][..]));
        // Compressed, the results have the bytes of files: each component of the vectors by itself, in LPS.
        let planes = |warp: Option<&DisplacementField>| {
            let plane = |axis: usize, factor: f32| warp.unwrap().vectors.iter().map(move |v| factor * v[axis]);
            Deflated::of(
                &[(0, -1.0), (1, -1.0), (2, 1.0)]
                    .map(|(axis, factor)| plane(axis, factor))
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>(),
            )
        };
        let voxels = |image: Option<&Volume>| Deflated::of(&image.unwrap().voxels);
        for (deflated, expected) in [
            (resident.deflated_warp(), planes(found.warp())),
            (resident.deflated_inverse_warp(), planes(found.inverse_warp())),
            (resident.deflated_warped(), voxels(found.warped.as_ref())),
            (resident.deflated_inverse_warped(), voxels(found.inverse_warped.as_ref())),
        ] {
            assert_eq!(deflated.expect("it is there"), Some(expected));
        }
    }
}

#[test]
fn results_that_were_not_requested_are_not_compressed() {
    let (device, sides) = (Device::cpu(), [volume(0.0), volume(4.0)].map(Side::from));
    let ([fixed, moving], options) = (sides.each_ref(), options(sides[0].image.volume().expect("in main memory")));
    let less = Options { inverse_warp: false, images: None, ..options.clone() };
    let resident =
        register(fixed, moving, &less, &device, &mut ()).and_then(Registered::keep).expect("they register");
    assert!(resident.deflated_warp().expect("it is there").is_some());
    let linear = Options { stages: options.stages[..1].to_vec(), images: None, ..options };
    let affine =
        register(fixed, moving, &linear, &device, &mut ()).and_then(Registered::keep).expect("they register");
    assert_eq!(affine.deflated_warp().expect("nothing is tried"), None);
    for resident in [&resident, &affine] {
        assert_eq!(resident.deflated_inverse_warp().expect("nothing is tried"), None);
        assert_eq!(resident.deflated_warped().expect("nothing is tried"), None);
        assert_eq!(resident.deflated_inverse_warped().expect("nothing is tried"), None);
    }
}

#[test]
fn missing_voxels_are_zero_on_the_device_too() {
    let mut image = volume(0.0);
    image.voxels[77] = f32::NAN;
    image.voxels[78] = f32::INFINITY;
    let uploaded = Image::uploaded(&Device::cpu(), &image).expect("an image");
    let given = Image::from(image.clone());
    (image.voxels[77], image.voxels[78]) = (0.0, 0.0);
    for image_found in [&uploaded, &given] {
        assert!(image_found.volume().expect("voxels").voxels == image.voxels);
    }
}
