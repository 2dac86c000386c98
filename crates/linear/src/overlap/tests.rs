//! Tests of the overlap of two fields of view.

use nalgebra::Rotation3;

use super::*;

/// A field of view of 200 × 200 × 100 mm around `centre`.
fn slab(centre: [f64; 3]) -> Grid {
    let mut grid = Grid::axis_aligned([100, 50, 20], [2.0, 4.0, 5.0]);
    grid.origin += Vector3::from(centre) - grid.centre().coords;
    grid
}

/// A field of view of 240 mm along each axis, turned.
fn cube() -> Grid {
    let mut grid = Grid::axis_aligned([80; 3], [3.0; 3]);
    grid.direction = Rotation3::from_euler_angles(0.4, -0.2, 0.3).into_inner();
    grid.origin += Vector3::new(10.0, -4.0, 7.0) - grid.centre().coords;
    grid
}

fn shift(mm: [f64; 3]) -> AffineTransform {
    AffineTransform { translation: Vector3::from(mm), ..AffineTransform::identity() }
}

/// The overlap of two fields of view, mm³, by counting the fixed voxels that lie in the moving image.
fn counted(fixed: &Grid, moving: &Grid, map: &AffineTransform) -> f64 {
    let to_voxel = moving.world_to_voxel().after(map).after(&fixed.voxel_to_world());
    let within = |at: Point3<f64>| (0..3).all(|axis| (-0.5..moving.shape[axis] as f64 - 0.5).contains(&at[axis]));
    let [nx, ny, nz] = fixed.shape;
    let voxels = (0..nx * ny * nz).map(|n| Point3::from([n % nx, n / nx % ny, n / nx / ny].map(|i| i as f64)));
    voxels.filter(|voxel| within(to_voxel.apply(voxel))).count() as f64 / fixed.len() as f64 * volume(fixed)
}

#[test]
fn overlaps_are_those_of_counted_points() {
    let (fixed, moving) = (slab([0.0; 3]), cube());
    for [x, y, z] in [[0.0; 3], [60.0, 20.0, -40.0], [0.0, 0.0, 150.0], [170.0, 0.0, 0.0], [900.0, 0.0, 0.0]] {
        let map =
            AffineTransform { matrix: *Rotation3::from_euler_angles(0.1, 0.5, 0.2).matrix(), ..shift([x, y, z]) };
        let (found, expected) = (Overlap::new(&fixed, &moving, &[]).mm3(&map), counted(&fixed, &moving, &map));
        // Lines are a sixth of the field of view apart.
        assert!((found - expected).abs() < 0.04 * volume(&fixed), "{found} mm³, counted {expected}");
    }
}

#[test]
fn overlaps_do_not_depend_on_the_sides() {
    let (slab, cube) = (slab([5.0, 0.0, 0.0]), cube());
    for scale in [0.5, 1.0, 3.0] {
        let map = AffineTransform { matrix: scale * Matrix3::identity(), ..shift([20.0, -30.0, 40.0]) };
        let back = map.inverse().expect("an invertible map");
        let (there, here) = (Overlap::new(&slab, &cube, &[]).mm3(&map), Overlap::new(&cube, &slab, &[]).mm3(&back));
        assert!((there - here).abs() < 1e-6 * there, "{there} and {here} mm³ at scale {scale}");
    }
}

#[test]
fn a_scale_that_shrinks_one_image_to_a_sliver_of_the_other_loses_overlap() {
    let (fixed, moving) = (slab([0.0; 3]), slab([0.0; 3]));
    let overlap = Overlap::new(&fixed, &moving, &[AffineTransform::identity()]);
    for scale in [0.25, 4.0] {
        let map = AffineTransform { matrix: scale * Matrix3::identity(), ..AffineTransform::identity() };
        let share = overlap.mm3(&map) / volume(&fixed);
        assert!((share - 1.0 / 64.0).abs() < 0.02, "{share}");
        assert_eq!(overlap.penalised(0.1, &map), 1.0);
    }
}

#[test]
fn slivers_cost_one_and_sufficient_overlaps_leave_costs_unchanged() {
    let (fixed, moving) = (slab([0.0; 3]), slab([40.0, 0.0, 0.0]));
    // The fields of view overlap by 160 mm under the first start and by 150 mm under the second.
    let overlap = Overlap::new(&fixed, &moving, &[AffineTransform::identity(), shift([90.0, 0.0, 0.0])]);
    let cost_at = |overlap_mm: f64| overlap.penalised(0.2, &shift([overlap_mm - 160.0, 0.0, 0.0]));
    assert_eq!([200.0, 160.0, 81.0].map(cost_at), [0.2; 3]);
    assert!((cost_at(48.0) - 0.6).abs() < 1e-6, "with 0.3 of the overlap, half of the information counts");
    assert_eq!([15.0, 1.0, -10.0].map(cost_at), [1.0; 3]);
}

#[test]
fn without_an_overlap_of_the_starts_costs_are_unchanged() {
    let (fixed, moving) = (slab([0.0; 3]), slab([1000.0, 0.0, 0.0]));
    let overlap = Overlap::new(&fixed, &moving, &[AffineTransform::identity()]);
    assert_eq!(overlap.penalised(0.3, &AffineTransform::identity()), 0.3);
    assert_eq!(overlap.penalised(0.3, &shift([1000.0, 0.0, 0.0])), 0.3);
}

#[test]
fn slices_overlap_in_their_plane() {
    let slice = Grid::axis_aligned([100, 80, 1], [2.0, 2.0, 6.0]);
    let overlap = Overlap::new(&slice, &slice, &[AffineTransform::identity()]);
    assert!((overlap.mm3(&AffineTransform::identity()) - volume(&slice)).abs() < 1e-6);
    let half = overlap.mm3(&shift([100.0, 0.0, 0.0])) / volume(&slice);
    assert!((half - 0.5).abs() < 1e-9, "{half}");
}

#[test]
fn volumes_are_those_of_whole_voxels() {
    assert_eq!([volume(&slab([1.0; 3])), volume(&cube())], [200.0 * 200.0 * 100.0, 240.0 * 240.0 * 240.0]);
}

#[test]
fn a_core_stays_inside_while_it_is_small_enough() {
    let scaled = |scale: f64| AffineTransform {
        matrix: Matrix3::from_diagonal(&Vector3::new(scale, 1.0, 1.0)),
        translation: Vector3::new(0.5 - 0.5 * scale, 0.0, 0.0),
    };
    // The core of a cube that moves by a tenth may have 0.8 of its width, and that of a cube that becomes twice as long
    // half of it.
    for (map, axes, share) in [
        (shift([0.1, 0.0, 0.0]), 3, 0.512),
        (shift([0.0, -0.1, 0.0]), 3, 0.512),
        (shift([0.1, 0.0, 0.0]), 2, 0.64),
        (scaled(2.0), 3, 0.125),
        (scaled(2.0), 2, 0.25),
    ] {
        assert!(has_core_inside(&map, axes, 0.99 * share) && !has_core_inside(&map, axes, 1.01 * share), "{map:?}");
    }
    let identity = AffineTransform::identity();
    assert!(has_core_inside(&identity, 3, 1.0) && has_core_inside(&identity, 2, 1.0));
    // A cube inside the other has no core that is larger than itself.
    let half = AffineTransform { matrix: 0.5 * Matrix3::identity(), translation: Vector3::repeat(0.25) };
    assert!(has_core_inside(&half, 3, 1.0) && !has_core_inside(&half, 3, 1.01));
}

#[test]
fn cores_are_measured_in_cubic_millimetres_of_the_overlap() {
    let overlap = Overlap::new(&slab([0.0; 3]), &slab([0.0; 3]), &[]);
    let moved = |mm: f64| overlap.unit_map(&shift([mm, 0.0, 0.0])).expect("a map");
    // After a shift by a tenth of the width, the core has 0.8 of the extent along each axis.
    let (map, scale) = moved(20.0);
    let core = 0.512 * 200.0 * 200.0 * 100.0;
    assert!(overlap.has_core_of(0.99 * core, &map, scale) && !overlap.has_core_of(1.01 * core, &map, scale));
    assert!(!overlap.has_core_of(0.99 * core, &map, 0.5 * scale));
}
