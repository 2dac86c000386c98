//! The displacement fields between the two images and the middle space.

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::{Backend, InversionLimits};
use nalgebra::Matrix3;

use crate::Error;
use crate::error::go_on;

/// Limits of the inversions of displacement fields during the iterations: a small fraction of a voxel. Each inversion
/// starts from the last inverse, so one or two steps are enough.
pub(crate) const INVERSION: InversionLimits =
    InversionLimits { steps: 20, tolerance_voxels: 0.03, untouched_voxels: 0.0 };

/// The two displacement fields of the fixed or of the moving image, in voxels of the level's grid.
pub(crate) struct Side<B: Backend> {
    /// The displacement field φ, which maps points of the fixed or moving image to the middle space.
    pub(crate) to_middle: B::Field,
    /// The displacement field φ⁻¹, which maps points of the middle space to the fixed or moving image.
    pub(crate) from_middle: B::Field,
}

impl<B: Backend> Side<B> {
    /// Displacement fields without any displacement: the two fields of the fixed image, then the two of the moving
    /// image.
    fn identities(backend: &B, grid: &Grid) -> Result<[Self; 2], Error> {
        let [fixed, moving] = backend.field_pair(grid.shape)?;
        let [from_fixed, from_moving] = backend.field_pair(grid.shape)?;
        let side = |to_middle, from_middle| Side { to_middle, from_middle };
        Ok([side(fixed, from_fixed), side(moving, from_moving)])
    }
}

/// The four displacement fields of a deformable stage, on the device: for the fixed and for the moving image, each from
/// the image to the middle space and back.
///
/// [`Fixed::warps`](crate::Fixed::warps) composes the fields to the warp and its inverse. Another deformable stage can
/// continue from the fields.
pub struct Fields<B: Backend> {
    /// Factor by which the grid of these displacement fields is coarser than the fixed image's grid.
    shrink: usize,
    grid: Grid,
    /// Displacement fields of the fixed image, then those of the moving image.
    pub(crate) sides: [Side<B>; 2],
}

/// Data for resampling a displacement field on another grid: the map between voxel indices, and the matrix that scales
/// the displacements.
struct Resizing {
    map: AffineTransform,
    scale: Matrix3<f64>,
}

impl Resizing {
    fn new(from: &Grid, to: &Grid) -> Resizing {
        Resizing {
            map: from.world_to_voxel().after(&to.voxel_to_world()),
            scale: Matrix3::from_diagonal(&from.spacing.component_div(&to.spacing)),
        }
    }
}

impl<B: Backend> Fields<B> {
    /// Displacement fields of zeros on a grid: the fixed image's grid `full`, shrunken by the factor `shrink`.
    pub(crate) fn identities(backend: &B, full: &Grid, shrink: usize) -> Result<Self, Error> {
        let grid = full.shrink([shrink; 3]);
        Ok(Fields { shrink, sides: Side::identities(backend, &grid)?, grid })
    }

    /// The grid of the displacement fields: the fixed image's grid, shrunken by the shrink factor of the last level.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Factor by which the grid of these displacement fields is coarser than the fixed image's grid.
    pub fn shrink(&self) -> usize {
        self.shrink
    }

    /// Checks that the displacement fields lie on the grid `full` of the fixed image, or on `full` shrunken by an
    /// integer factor.
    pub(crate) fn check_grid(&self, full: &Grid) -> Result<(), Error> {
        let expected = full.shrink([self.shrink; 3]);
        match self.grid.matches(&expected, 1e-3 * expected.spacing.min()) {
            true => Ok(()),
            false => Err(Error::FieldsGrid),
        }
    }

    /// The same displacements, resampled on another grid: the grid `full`, shrunken by the factor `shrink`.
    pub(crate) fn resized(
        &self,
        backend: &B,
        full: &Grid,
        shrink: usize,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        let mut resized = Fields::identities(backend, full, shrink)?;
        let Resizing { map, scale } = Resizing::new(&self.grid, &resized.grid);
        for (side, out) in self.sides.iter().zip(&mut resized.sides) {
            go_on(observer.poll())?;
            backend.resize_field(&side.to_middle, &map, &scale, &mut out.to_middle)?;
            go_on(observer.poll())?;
            backend.resize_field(&side.from_middle, &map, &scale, &mut out.from_middle)?;
        }
        Ok(resized)
    }

    /// Adds the change of the displacements that a coarser level made, from `start` to `end`, to finer fields, which
    /// keep their detail.
    ///
    /// The difference between the displacements of `end` and `start` is interpolated and added. The fields from the
    /// middle space are then inverted again, because the sum of two inverse fields is not the inverse of the sum.
    pub(crate) fn add_change(
        &mut self,
        backend: &B,
        start: Fields<B>,
        end: Fields<B>,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let Resizing { map, scale } = Resizing::new(&end.grid, &self.grid);
        let mut change = backend.field(self.grid.shape)?;
        let mut add = |fine: &mut B::Field, start: &B::Field, mut end: B::Field| -> Result<(), Error> {
            go_on(observer.poll())?;
            backend.add_scaled(&mut end, start, -1.0)?;
            backend.resize_field(&end, &map, &scale, &mut change)?;
            Ok(backend.add_scaled(fine, &change, 1.0)?)
        };
        for ((fine, start), end) in self.sides.iter_mut().zip(&start.sides).zip(end.sides) {
            add(&mut fine.to_middle, &start.to_middle, end.to_middle)?;
            add(&mut fine.from_middle, &start.from_middle, end.from_middle)?;
        }
        go_on(observer.poll())?;
        let [fixed, moving] = &mut self.sides;
        let inverses = [&mut fixed.from_middle, &mut moving.from_middle];
        backend.invert_both([&fixed.to_middle, &moving.to_middle], inverses, &INVERSION)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::cpu;
    use antsreg_kernels::ops::{Fields as _, Memory as _};

    use super::*;

    const SHAPE: [usize; 3] = [20, 18, 16];

    fn full() -> Grid {
        Grid::axis_aligned(SHAPE, [1.0, 1.2, 0.9])
    }

    /// Test displacements: waves of up to `height` voxels, zero at the border of the grid.
    fn waves(shape: [usize; 3], height: f32) -> Vec<[f32; 3]> {
        let wave =
            |at: usize, n: usize, waves: f32| (waves * std::f32::consts::PI * at as f32 / (n - 1) as f32).sin();
        let [nx, ny, nz] = shape;
        let voxels = (0..nx * ny * nz).map(|n| {
            let (x, y, z) = (n % nx, n / nx % ny, n / (nx * ny));
            if [x, y, z].iter().zip(shape).any(|(at, n)| *at == 0 || *at == n - 1) {
                return [0.0; 3];
            }
            let height = height * wave(x, nx, 1.0) * wave(y, ny, 1.0) * wave(z, nz, 1.0);
            [height * wave(y, ny, 4.0), height * wave(z, nz, 3.0), height * wave(x, nx, 5.0)]
        });
        voxels.collect()
    }

    /// Test fields: waves from either image to the middle space, with opposite directions for the two images, and the
    /// inverses of these waves.
    fn fields() -> Fields<Cpu> {
        let mut fields = Fields::identities(&Cpu, &full(), 1).expect("fields");
        for (side, height) in fields.sides.iter_mut().zip([0.8, -0.6]) {
            side.to_middle = Cpu.upload_field(SHAPE, &waves(SHAPE, height)).expect("one shape");
            Cpu.invert(&side.to_middle, &mut side.from_middle, &INVERSION).expect("one shape");
        }
        fields
    }

    fn vectors(field: &cpu::Field) -> Vec<[f32; 3]> {
        Cpu.download_field(field).expect("it is here")
    }

    #[test]
    fn on_their_own_grid_fields_are_copied_to_the_bit() {
        let fields = fields();
        let copy = fields.resized(&Cpu, &full(), 1, &mut ()).expect("fields");
        for (side, copy) in fields.sides.iter().zip(&copy.sides) {
            assert_eq!(vectors(&side.to_middle), vectors(&copy.to_middle));
            assert_eq!(vectors(&side.from_middle), vectors(&copy.from_middle));
        }
    }

    #[test]
    fn the_change_of_a_coarser_level_is_added_and_detail_is_kept() {
        let mut fine = fields();
        let before = fine.sides.each_ref().map(|side| vectors(&side.to_middle));
        let [start, mut end] = [0; 2].map(|_| fine.resized(&Cpu, &full(), 2, &mut ()).expect("fields"));
        // The test change moves the field of the fixed image by up to 0.3 coarse voxels along x, and does not move the
        // field of the moving image.
        let mut bump = waves(end.grid.shape, 1.0);
        bump.iter_mut().for_each(|u| *u = [0.3 * u.iter().map(|c| c.abs()).sum::<f32>().min(1.0), 0.0, 0.0]);
        let bump = Cpu.upload_field(end.grid.shape, &bump).expect("one shape");
        Cpu.add_scaled(&mut end.sides[0].to_middle, &bump, 1.0).expect("one shape");
        fine.add_change(&Cpu, start, end, &mut ()).expect("one grid");
        let after = fine.sides.each_ref().map(|side| vectors(&side.to_middle));
        assert_eq!(before[1], after[1]);
        let changes = before[0].iter().zip(&after[0]).map(|(before, after)| {
            assert_eq!(before[1..], after[1..], "components that did not change keep their bits");
            after[0] - before[0]
        });
        let largest = changes.fold(0.0, f32::max);
        // A voxel of the coarse grid is two voxels of the fine grid. The coarse change is 0.3 coarse voxels, so the
        // largest change on the fine grid is 0.6 voxels.
        assert!((0.3..0.61).contains(&largest), "{largest}");
        for side in &fine.sides {
            let missed = Cpu.inverse_consistency(&side.from_middle, &side.to_middle, None).expect("one shape");
            assert!(missed.largest_voxels < f64::from(INVERSION.tolerance_voxels), "{missed:?}");
        }
    }

    #[test]
    fn warps_of_fields_that_fold_do_not_fold() {
        let mut fields = fields();
        // These displacements change by up to two voxels between neighbouring voxels, so the field folds.
        fields.sides[0].to_middle = Cpu.upload_field(SHAPE, &waves(SHAPE, 3.0)).expect("one shape");
        // Number of voxels where the displacement field folds, by the strict criterion: a Jacobian determinant from
        // one-sided differences that is not positive.
        let folds = |field: &cpu::Field| Cpu.jacobian_summary(field, None).expect("a field").corner_folded;
        assert!(folds(&fields.sides[0].to_middle) > 0, "this test needs folds");
        let (warps, relaxed) =
            crate::relaxation::warps(&Cpu, &full(), fields.sides, &crate::Options::default(), &mut ())
                .expect("one shape");
        assert!(relaxed.rounds > 0, "{relaxed:?}");
        assert_eq!([&warps.warp, &warps.inverse_warp].map(folds), [0, 0], "{relaxed:?}");
    }

    #[test]
    fn fields_know_the_grids_that_they_belong_to() {
        let coarse = Fields::<Cpu>::identities(&Cpu, &full(), 2).expect("fields");
        assert!(coarse.check_grid(&full()).is_ok());
        let longer = Grid::axis_aligned([24, 18, 16], [1.0, 1.2, 0.9]);
        let wider = Grid::axis_aligned(SHAPE, [1.1, 1.2, 0.9]);
        for other in [longer, wider] {
            assert!(matches!(coarse.check_grid(&other), Err(Error::FieldsGrid)));
        }
    }
    #[test]
    fn the_grid_of_fields_may_be_off_by_a_thousandth_of_a_voxel() {
        for mm in [0.1, 10.0] {
            let full = Grid::axis_aligned(SHAPE, [mm, 2.0 * mm, 3.0 * mm]);
            let fields = Fields::<Cpu>::identities(&Cpu, &full, 1).expect("fields");
            for (share, expected) in [(0.5e-3, true), (2e-3, false)] {
                let mut other = full.clone();
                other.origin.y += share * mm;
                assert_eq!(fields.check_grid(&other).is_ok(), expected, "{share} voxels of {mm} mm");
            }
        }
    }
}
