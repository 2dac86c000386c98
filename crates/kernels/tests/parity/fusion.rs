//! Runs the operation of joint label fusion, so that its results can be compared between devices.

use antsreg_kernels::Error;
use antsreg_kernels::fusion::{FusionBackend, Images, Parameters, Patches, Scaled};

use crate::operations::{EXACT, Outcomes};
use crate::world::World;

/// Tolerance of the weights with an exponent other than 2. The powers of two devices differ in their last bits, and the
/// solution of the linear system amplifies the difference.
const POWERS: (f64, &str) = (1e-6, "powers in double precision of two libraries");

/// Compares the patches around about half of the voxels of a volume, with different radii and numbers of atlases. One
/// case has matrices that are not positive definite, and in one case all patches of an atlas are flat.
pub fn fusion<B: FusionBackend>(out: &mut Outcomes<'_, B>, world: &World) -> Result<(), Error> {
    let shape = world.shape;
    let defaults = Parameters { patch_radius: 2, search_radius: 3, alpha: 0.1, beta: 2.0, not_negative: false };
    let cases = [
        ("", 4, defaults),
        (", radius 1", 11, Parameters { patch_radius: 1, search_radius: 1, alpha: 0.01, ..defaults }),
        (", radius 3", 1, Parameters { patch_radius: 3, search_radius: 2, ..defaults }),
        (", radius 4", 2, Parameters { patch_radius: 4, search_radius: 0, not_negative: true, ..defaults }),
        (", radius 5", 3, Parameters { patch_radius: 5, search_radius: 1, ..defaults }),
        (", radius 6", 2, Parameters { patch_radius: 6, search_radius: 1, ..defaults }),
        (", radius 7", 2, Parameters { patch_radius: 7, search_radius: 1, ..defaults }),
        (", radius 8", 2, Parameters { patch_radius: 8, search_radius: 4, ..defaults }),
        (", not definite", 6, Parameters { patch_radius: 1, search_radius: 1, alpha: 1e-9, beta: 0.3, ..defaults }),
    ];
    let mut target = World::image(shape, 41);
    if let Some(value) = target.get_mut(7) {
        *value = f32::NAN;
    }
    let set: Vec<bool> = World::mask(shape, 43).iter().map(|weight| *weight > 0.5).collect();
    let patches = Patches::around(&set, shape);
    for (name, count, parameters) in cases {
        let mut atlases: Vec<Vec<f32>> = (0..count).map(|n| World::image(shape, 44 + n)).collect();
        if let (6, Some(last)) = (parameters.patch_radius, atlases.last_mut()) {
            last.fill(3.0);
        }
        let scaled: Vec<Scaled> = atlases.iter().map(|voxels| Scaled::new(voxels)).collect();
        let images = Images { shape, target: Scaled::new(&target), atlases: &scaled };
        let found = out.backend.fusion_choices(&images, &patches, &parameters)?;
        let rule = if parameters.beta == 2.0 { EXACT } else { POWERS };
        out.values(format!("fusion shifts{name}"), EXACT, found.shift.into_iter().map(f64::from).collect());
        out.values(format!("fusion weights{name}"), rule, found.weight.into_iter().map(f64::from).collect());
    }
    Ok(())
}
