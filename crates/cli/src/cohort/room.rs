//! What a GPU must have free to be of use for many registrations: room for the largest of them.

use std::path::Path;

use antsreg_core::Grid;
use antsreg_core::io::nifti;
use rayon::prelude::*;

use crate::register::{Plan, WantedImages, device_memory};

/// Registrations of many images to one fixed side, which is kept.
pub struct Largest<'a> {
    /// Grids of the fixed side's images, one a channel.
    pub fixed: Vec<&'a Grid>,
    /// Grid of the largest moving image, if it is known; else it is like the fixed one.
    pub moving: Option<Grid>,
    /// Whether there are masks of the fixed image, and of any moving one.
    pub masked: [bool; 2],
    /// What is done.
    pub plan: &'a Plan,
    /// Images that are wanted.
    pub images: Option<WantedImages>,
}

impl Largest<'_> {
    /// Memory of a GPU that one of them takes at most, bytes.
    pub fn bytes_on_device(&self) -> u64 {
        let Some((first, further)) = self.fixed.split_first() else { return 0 };
        let moving = self.moving.as_ref().unwrap_or(first);
        let (grids, linear, syn) = ([first, moving], self.plan.linear.as_ref(), self.plan.syn.as_ref());
        let others: Vec<&Grid> = further.iter().copied().chain(further.iter().map(|_| moving)).collect();
        let stages = device_memory::of_stages(grids, &others, self.masked, linear, syn);
        let images = |images| device_memory::of_images(grids, self.masked[0], syn.is_some(), images);
        let kept = device_memory::of_prepared(first, further, self.masked[0], linear, syn);
        (stages.max(self.images.map_or(0, images)) + kept) as u64
    }
}

/// The largest grid of images, as far as their headers can be read.
pub fn largest_grid(images: &[impl AsRef<Path> + Sync]) -> Option<Grid> {
    let grids = images.par_iter().filter_map(|path| nifti::inspect(path.as_ref()).ok()).map(|header| header.grid);
    grids.max_by_key(Grid::len)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use antsreg_core::{AffineTransform, Volume};
    use antsreg_linear as linear;
    use antsreg_syn as syn;

    use super::*;
    use crate::device::Description;
    use crate::register::{Request, Wanted};

    fn image(voxels: usize) -> Volume {
        Volume::filled(Grid::axis_aligned([voxels; 3], [1.0; 3]), 1.0)
    }

    #[test]
    fn it_is_what_the_largest_registration_takes_and_keeps() {
        let plan = Plan {
            linear: Some(linear::Options::default()),
            syn: Some(syn::Options::default()),
            device: Description::Cpu,
            slices: false,
        };
        let (fixed, further, moving) = (Arc::new(image(40)), [Arc::new(image(30))], [30, 70].map(image));
        for moving in &moving {
            let further_moving = [moving.clone()];
            let request = Request {
                fixed: &fixed,
                fixed_channels: &further,
                fixed_mask: Some(&fixed),
                moving,
                moving_channels: &further_moving,
                moving_mask: None,
                initial: AffineTransform::identity(),
                start: linear::Start::CentreOfMass,
                linear: plan.linear.as_ref(),
                syn: plan.syn.as_ref(),
                wanted: Wanted::WARP,
            };
            let largest = Largest {
                fixed: vec![&fixed.grid, &further[0].grid],
                moving: Some(moving.grid.clone()),
                masked: [true, false],
                plan: &plan,
                images: None,
            };
            let takes = request.bytes_on_device() + request.prepared_bytes_on_device();
            assert_eq!(largest.bytes_on_device(), takes);
        }
    }

    #[test]
    fn the_largest_image_is_known_by_its_header_and_unreadable_ones_are_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, voxels| {
            let path = folder.path().join(name);
            nifti::write_volume(&path, &image(voxels)).expect("written");
            path
        };
        let (small, large, none) = (write("a.nii", 7), write("b.nii.gz", 9), folder.path().join("none.nii"));
        assert_eq!(largest_grid(&[&none, &small, &large, &small]).map(|grid| grid.shape), Some([9; 3]));
        assert_eq!(largest_grid(&[none]), None);
        assert_eq!(largest_grid(&Vec::<PathBuf>::new()), None);
    }
}
