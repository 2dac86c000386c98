//! Registers the example pair on the CPU and prints how well the images correlate.

use antsreg_core::io::nifti;
use antsreg_register::{Device, Preset, Recipe, Side, register};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let fixed = Side::from(nifti::read_volume(format!("{folder}/icbm152_t1_2mm.nii.gz").as_ref())?);
    let moving = Side::from(nifti::read_volume(format!("{folder}/colin27_t1_2mm.nii.gz").as_ref())?);
    let options = Recipe::new(Preset::Fast).options(fixed.grid().shape)?;
    let found = register(&fixed, &moving, &options, &Device::cpu(), &mut ())?.finish()?;
    let [start, now] = [found.similarity.correlation_at_start, found.similarity.correlation];
    println!("correlation: {start:?} at the start, {now:?} now");
    Ok(())
}
