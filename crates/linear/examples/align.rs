//! Aligns two images and prints fixed → moving, RAS mm: `align FIXED MOVING [DOF]`.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use antsreg_core::io::nifti;
use antsreg_core::report::{Observer, Report};
use antsreg_kernels::Cpu;
use antsreg_linear::{Dof, Options, register};

struct Log(Instant);

impl Observer for Log {
    fn report(&mut self, report: &Report) {
        eprintln!("{:6.2} s  {:<34} {:.6}", self.0.elapsed().as_secs_f64(), report.what, report.energy);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fixed, moving] = [0, 1].map(|i| nifti::read_volume(Path::new(&arguments[i])));
    let dof = match arguments.get(2).map(String::as_str) {
        Some("6") => Dof::Rigid6,
        Some("7") => Dof::Similarity7,
        Some("9") => Dof::Scales9,
        _ => Dof::Affine12,
    };
    let options = Options { dof, ..Options::default() };
    let outcome = register(&Cpu, &fixed?, &moving?, None, None, &options, &mut Log(Instant::now()))?;
    let transform = outcome.transform.to_homogeneous();
    for row in 0..4 {
        println!(
            "{:?} {:?} {:?} {:?}",
            transform[(row, 0)],
            transform[(row, 1)],
            transform[(row, 2)],
            transform[(row, 3)]
        );
    }
    Ok(())
}
