//! Tests of the costs on a resolution level.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Matrix3, Point3};

use super::*;
use crate::fixed::Fixed;
use crate::images::Images;
use crate::parameters::{IDENTITY, SCALE};
use crate::{Cost, Options};

/// A ball whose intensity changes along all axes.
fn ball() -> Volume {
    let mut grid = Grid::axis_aligned([24; 3], [8.0; 3]);
    grid.origin = Point3::new(-92.0, -92.0, -92.0);
    let to_world = grid.voxel_to_world();
    let at = |n: usize| to_world.apply(&Point3::from([n % 24, n / 24 % 24, n / 576].map(|i| i as f64))).coords;
    let value = |n: usize| if at(n).norm() < 80.0 { 100.0 + at(n).x + 0.3 * at(n).y - 0.2 * at(n).z } else { 0.0 };
    Volume { voxels: (0..grid.len()).map(|n| value(n) as f32).collect(), grid }
}

#[test]
fn a_sliver_costs_one_whatever_the_images_are() {
    for cost in [Cost::CorrelationRatio, Cost::NormalisedCorrelation] {
        let (image, options) = (ball(), Options::of(cost));
        let fixed = Fixed::new(&Cpu, &image, None, &options).expect("a fixed image");
        let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
        let start = AffineTransform::identity();
        let overlap = images.overlap(&[start]);
        let level = images.level(8.0, &start, &overlap).expect("a level");
        let frame = Frame::new(&start, Matrix3::identity(), Point3::origin(), false).expect("a frame");
        // The moving image is shrunk to 0.4³ = 0.064 of the fixed image.
        let mut sliver = IDENTITY;
        sliver[SCALE..SCALE + 3].fill(0.4);
        let transforms = [IDENTITY, sliver].map(|parameters| frame.transform(&parameters).expect("a transform"));
        let plain = level.costs_of(&transforms).expect("costs");
        let found = level.costs(&frame, &[IDENTITY, sliver], &mut Progress::new(&mut ())).expect("costs");
        assert_eq!(found, [plain[0], 1.0], "{cost}, without regard to the overlap {plain:?}");
        assert!(plain[1] < 1.0, "{cost}: {plain:?}");
    }
}
