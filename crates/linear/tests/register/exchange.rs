//! Tests that a registration finds the same transform when the images change sides.

use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::{Cost, Dof, Fixed, Options, Outcome, Search, Start, register};

use crate::object::{affine, error_mm, fixed, fixed_grid, sampled};

fn both_ways(images: [&Volume; 2], options: &Options) -> [Outcome; 2] {
    [[0, 1], [1, 0]].map(|[fixed, moving]| {
        let (fixed, moving) = (images[fixed], images[moving]);
        register(&Cpu, fixed, moving, None, None, options, Start::CentreOfMass, &mut ()).expect("a result")
    })
}

/// Distance between the points of the test object and the points to which both transforms map them one after the other.
fn difference_mm([there, back]: &[Outcome; 2]) -> f64 {
    error_mm(&back.transform.after(&there.transform), &AffineTransform::identity())
}

/// A contrast in which the brightest and the darkest tissue look alike, so that it does not explain the first contrast.
fn grey(mut image: Volume) -> Volume {
    let most = image.voxels.iter().copied().fold(0.0, f32::max);
    image.voxels.iter_mut().for_each(|value| *value = 100.0 * (std::f32::consts::PI * *value / most).sin());
    image
}

#[test]
fn the_correlation_ratio_takes_the_roles_that_determine_the_transform() {
    let stretch = [1.05, 0.95, 1.0];
    for (dof, scales) in [(Dof::Rigid6, [1.0; 3]), (Dof::Affine12, stretch)] {
        let truth = affine([12.0, -9.0, 16.0], scales, [6.0, -4.0, 8.0]);
        let images = [fixed(), grey(sampled(fixed_grid(), &truth))];
        let options = Options { dof, ..Options::default() };
        let found = both_ways([&images[0], &images[1]], &options);
        assert_eq!(found.each_ref().map(|found| found.exchanged), [false, true], "{dof:?}");
        let (error, difference) = (error_mm(&found[0].transform, &truth), difference_mm(&found));
        assert!(error < 0.4 && difference < 1e-3, "{dof:?}: {error} mm, both ways {difference} mm");
        // The cost is that of the images as given, which is high where the second image is fixed.
        let prepared = Fixed::new(&Cpu, &images[1], None, &options).expect("a fixed image");
        let costs = prepared.costs(&Cpu, &images[0], None, 4.0, &[found[1].transform]).expect("costs");
        assert!((found[1].cost - costs[0]).abs() < 1e-6, "{dof:?}: {} for {costs:?}", found[1].cost);
        assert!(found[1].cost > 2.0 * found[0].cost, "{dof:?}: {} and {}", found[0].cost, found[1].cost);
        // A local search keeps the roles in which the second image is fixed, and there the cost leads away.
        let back = Start::Transform(truth.inverse().expect("an inverse"));
        let local = Options { search: Search::None, ..options };
        let away = register(&Cpu, &images[1], &images[0], None, None, &local, back, &mut ()).expect("a result");
        let without = error_mm(&away.transform.inverse().expect("an inverse"), &truth);
        assert!(!away.exchanged && without > 5.0 * error, "{dof:?}: {error} mm, in these roles {without} mm");
    }
}

#[test]
fn a_search_on_one_level_finds_the_same_both_ways() {
    let truth = affine([12.0, -9.0, 16.0], [1.05, 0.95, 1.0], [6.0, -4.0, 8.0]);
    let images = [fixed(), grey(sampled(fixed_grid(), &truth))];
    let options = Options { finest_mm: 8.0, ..Options::default() };
    let difference = difference_mm(&both_ways([&images[0], &images[1]], &options));
    assert!(difference < 1e-3, "{difference} mm");
}

#[test]
fn images_of_one_contrast_keep_their_roles() {
    let images = [fixed(), sampled(fixed_grid(), &affine([4.0, 2.0, -3.0], [1.02, 0.98, 1.0], [3.0, -2.0, 4.0]))];
    let found = both_ways([&images[0], &images[1]], &Options::default());
    assert_eq!(found.each_ref().map(|found| found.exchanged), [false, false]);
}

#[test]
fn symmetric_costs_take_the_smaller_field_of_view_as_fixed() {
    let truth = affine([8.0, -6.0, 10.0], [1.05, 0.95, 1.0], [6.0, -4.0, 8.0]);
    let mut slab = fixed_grid();
    slab.origin.z += 4.0 * 8.0;
    slab.shape[2] -= 12;
    let images = [fixed(), grey(sampled(slab, &truth))];
    for (cost, dof, expected) in [
        (Cost::MutualInformation, Dof::Affine12, [true, false]),
        (Cost::NormalisedMutualInformation, Dof::Affine12, [true, false]),
        // The inverse of a transform with a scale along each axis of the moving image is not such a transform.
        (Cost::NormalisedMutualInformation, Dof::Scales9, [false, false]),
    ] {
        let found = both_ways([&images[0], &images[1]], &Options { dof, ..Options::of(cost) });
        assert_eq!(found.each_ref().map(|found| found.exchanged), expected, "{cost}, {dof:?}");
        if dof == Dof::Affine12 {
            let difference = difference_mm(&found);
            assert!(difference < 1e-3, "{cost}: {difference} mm");
        }
    }
}
