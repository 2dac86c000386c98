//! Computes a registration on a device, and writes the files that a GPU has compressed while it fetches the rest of the
//! result.

use std::path::PathBuf;
use std::time::Instant;

use antsreg_core::Grid;
use antsreg_core::io::outputs::Outputs;
use antsreg_core::io::{self, Deflated, Target, itk, nifti};
use antsreg_register::{
    self as registering, Computed, Device, Options, Progress, Registered, Resident, Side, register,
};

use super::files::{Format, Names, PairFiles};
use super::inputs::Inputs;
use crate::Error;

/// Usual size of a compressed warp, divided by its size without compression. Warps that are not rounded are larger.
const SHARE: f64 = 0.6;

/// Output files of a registration that are written while the rest of its result is computed.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The set of output files, to which all other files of the registration are added.
    pub(super) outputs: Outputs,
    /// Time of compressing on a GPU, s.
    pub(super) seconds: f64,
}

/// Runs the part of a registration that needs the device.
///
/// # Errors
/// The errors of [`antsreg_register::register`]; a file that cannot be written.
pub fn compute(
    files: &PairFiles,
    names: &Names,
    inputs: &Inputs,
    options: &Options,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<(Computed, Ahead), Error> {
    let ([fixed, moving], failed) = (inputs.sides(), |error| inputs.blame(files, error));
    if device.is_gpu() {
        let mut ahead = Ahead::default();
        if compresses(files) {
            ahead.reserve(names, fixed.grid())?;
        }
        let registered = register(fixed, moving, options, device, progress).and_then(Registered::keep);
        return fetch(&registered.map_err(failed)?, files, names, inputs, ahead);
    }
    let computed = register(fixed, moving, options, device, progress).and_then(Registered::download);
    Ok((computed.map_err(failed)?, Ahead::default()))
}

/// Fetches the result of a registration from a GPU. The GPU first compresses the warps and images of files with names in
/// `.nii.gz`, and these files are written in the background. Then the warps and images are copied to main memory, unless
/// nothing else is made of them.
///
/// # Errors
/// A device that fails; a file that cannot be written.
pub(crate) fn fetch(
    resident: &Resident,
    files: &PairFiles,
    names: &Names,
    inputs: &Inputs,
    mut ahead: Ahead,
) -> Result<(Computed, Ahead), Error> {
    if compresses(files) {
        let began = Instant::now();
        let [fixed, moving] = inputs.sides().map(Side::grid);
        // If the brain of a head was registered, the file shows the head, which is resampled later.
        let [of_fixed, of_moving] = inputs.skulls.each_ref().map(Option::is_none);
        ahead.write(&names.warp, fixed, || resident.deflated_warp(), WARP)?;
        ahead.write(&names.inverse_warp, fixed, || resident.deflated_inverse_warp(), WARP)?;
        if of_moving {
            ahead.write(&names.warped, fixed, || resident.deflated_warped(), IMAGE)?;
        }
        if of_fixed {
            ahead.write(&names.inverse_warped, moving, || resident.deflated_inverse_warped(), IMAGE)?;
        }
        ahead.seconds = began.elapsed().as_secs_f64();
    }
    let computed = if ahead.is_all(names) { resident.outline() } else { resident.download()? };
    Ok((computed, ahead))
}

/// Whether warps and images are written as compressed files.
fn compresses(files: &PairFiles) -> bool {
    files.writing.format == Format::NiiGz
}

/// A function that writes a file of a result on a grid.
type Write = fn(Target, &Grid, &Deflated) -> Result<(), io::Error>;

const WARP: Write = |to, grid, deflated| itk::write_deflated_warp(to, grid, deflated);
const IMAGE: Write = |to, grid, deflated| nifti::write_deflated_volume(to, grid, deflated);

impl Ahead {
    /// Whether these are all files for which the warps and the warped images are needed.
    fn is_all(&self, names: &Names) -> bool {
        let Names { warp, inverse_warp, composite, inverse_composite, warped, inverse_warped, .. } = names;
        let volumes = [warp, inverse_warp, composite, inverse_composite, warped, inverse_warped, &names.labels];
        let others = names.report.is_some() || !names.further.is_empty();
        !others && volumes.into_iter().flatten().all(|name| self.outputs.contains(name))
    }

    /// Reserves space for the files of the warps. A new file in memory waits longer for its pages than for its bytes.
    fn reserve(&mut self, names: &Names, grid: &Grid) -> Result<(), Error> {
        for name in [&names.warp, &names.inverse_warp].into_iter().flatten() {
            self.outputs.reserve(name, (SHARE * (size_of::<[f32; 3]>() * grid.len()) as f64) as u64)?;
        }
        Ok(())
    }

    /// Compresses a result and begins to write its file, if the file is wanted and there is such a result.
    fn write(
        &mut self,
        name: &Option<PathBuf>,
        grid: &Grid,
        compress: impl FnOnce() -> Result<Option<Deflated>, registering::Error>,
        write: Write,
    ) -> Result<(), Error> {
        if let Some(name) = name
            && let Some(deflated) = compress()?
        {
            let grid = grid.clone();
            self.outputs.write_in_background(name, move |to| write(to, &grid, &deflated))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use antsreg_core::Volume;
    use antsreg_heads::brain::Contrast;
    use antsreg_register::{Preset, Recipe};

    use super::*;
    use crate::brain::BrainRecord;
    use crate::pair::Writing;
    use crate::skulls::{ExtractedRecord, Skull};

    /// Writes a test image: a ball, shifted along x by some voxels.
    fn write_image(path: &Path, shift: f32) {
        let grid = Grid::axis_aligned([20, 18, 16], [3.0; 3]);
        let value = |n: usize| {
            let at = [n % 20, n / 20 % 18, n / 360].map(|at| at as f32);
            let from = [at[0] - 9.5 - shift, at[1] - 8.5, at[2] - 7.5];
            (60.0 - from.iter().map(|d| d * d).sum::<f32>()).max(0.0) + at[1]
        };
        let image = Volume { voxels: (0..grid.len()).map(value).collect(), grid };
        nifti::write_volume(path, &image).expect("written");
    }

    #[test]
    fn compressed_files_are_written_ahead() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let files = |writing, report| PairFiles {
            fixed: at("fixed.nii"),
            moving: at("moving.nii"),
            prefix: at("").display().to_string(),
            writing,
            report,
            ..PairFiles::default()
        };
        write_image(&at("fixed.nii"), 0.0);
        write_image(&at("moving.nii"), 1.5);
        let mut inputs = Inputs::read(&files(Writing::default(), None)).expect("images");
        let options = Recipe::new(Preset::Fast).options(inputs.fixed.side.grid().shape).expect("options");
        let [fixed, moving] = inputs.sides();
        let grid = fixed.grid().clone();
        let resident = register(fixed, moving, &options, &Device::cpu(), &mut ()).and_then(Registered::keep);
        let resident = resident.expect("they register");
        let fetched = |inputs: &Inputs, writing, report| {
            let files = files(writing, report);
            let names = Names::new(&files, true);
            let mut ahead = Ahead::default();
            ahead.reserve(&names, &grid).expect("space");
            let (computed, ahead) = fetch(&resident, &files, &names, inputs, ahead).expect("fetched");
            let found = computed.finish(inputs.sides(), &options).expect("finished");
            (found, ahead.outputs.commit().expect("written"))
        };
        let (found, paths) = fetched(&inputs, Writing::default(), Some(at("page.html")));
        let names = ["1Warp.nii.gz", "1InverseWarp.nii.gz", "Warped.nii.gz", "InverseWarped.nii.gz"].map(at);
        assert_eq!(paths, names);
        for (path, warp) in paths[..2].iter().zip([found.warp(), found.inverse_warp()]) {
            let read = itk::read_warp(path).expect("it can be read");
            assert!(Some(&read.vectors) == warp.map(|warp| &warp.vectors), "{}", path.display());
        }
        for (path, image) in paths[2..].iter().zip([&found.warped, &found.inverse_warped]) {
            let read = nifti::read_volume(path).expect("it can be read");
            assert!(Some(&read.voxels) == image.as_ref().map(|image| &image.voxels), "{}", path.display());
        }
        // Without a page, nothing else is made of the warps and images, so they are not copied.
        let (outline, paths) = fetched(&inputs, Writing::default(), None);
        assert_eq!(paths, names);
        assert!(outline.warp().is_none() && outline.warped.is_none());
        assert_eq!((outline.similarity, outline.scores), (found.similarity, found.scores));
        // Composite files are not compressed, and need the warps in main memory.
        let (found, paths) = fetched(&inputs, Writing { composite: true, ..Writing::default() }, None);
        assert_eq!(paths, names[2..]);
        assert!(found.warp().is_some() && found.inverse_warp().is_some());
        let (found, paths) = fetched(&inputs, Writing { format: Format::Nii, ..Writing::default() }, None);
        assert!(paths.is_empty() && found.warp().is_some() && found.warped.is_some());
        // The image of an extracted brain is not the one that the file shows: that of the whole head.
        let head = inputs.moving.image.volume().expect("it is there").clone();
        let found = BrainRecord { contrast: Contrast::T1, surface_ratio: 1.0, correlation: 1.0, agreement: 1.0 };
        let record = ExtractedRecord { volume_cm3: 1.0, found, warnings: Vec::new(), verdict: None };
        inputs.skulls[1] = Some(Skull { mask: head.clone(), head, record });
        let (found, paths) = fetched(&inputs, Writing::default(), None);
        assert_eq!(paths, [&names[..2], &names[3..]].concat());
        assert!(found.warp().is_some() && found.warped.is_some());
    }
}
