//! Finds the largest grid among the images of a study, from their headers.

use std::path::Path;

use antsreg_core::Grid;
use antsreg_core::io::nifti;
use rayon::prelude::*;

/// The largest grid of the images whose headers can be read; `None` if no header can be read.
pub fn largest_grid(images: &[impl AsRef<Path> + Sync]) -> Option<Grid> {
    let grids = images.par_iter().filter_map(|path| nifti::inspect(path.as_ref()).ok()).map(|header| header.grid);
    grids.max_by_key(Grid::len)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use antsreg_core::Volume;

    use super::*;

    #[test]
    fn the_largest_image_is_known_by_its_header_and_unreadable_ones_are_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, voxels| {
            let path = folder.path().join(name);
            let image = Volume::filled(Grid::axis_aligned([voxels; 3], [1.0; 3]), 1.0);
            nifti::write_volume(&path, &image).expect("written");
            path
        };
        let (small, large, none) = (write("a.nii", 7), write("b.nii.gz", 9), folder.path().join("none.nii"));
        assert_eq!(largest_grid(&[&none, &small, &large, &small]).map(|grid| grid.shape), Some([9; 3]));
        assert_eq!(largest_grid(&[none]), None);
        assert_eq!(largest_grid(&Vec::<PathBuf>::new()), None);
    }
}
