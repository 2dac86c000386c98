//! Compares the results of every GPU algorithm for histograms with results in double precision. The kernels are tested
//! twice: from machine code, and compiled from their PTX by the driver.
//!
//! The test runs only when named (`cargo test -p antsreg-lab --test parity`), because it fails on a machine without a
//! CUDA device. With `--record`, it writes the name of the device and the digest of the tested code to
//! `cu/checked.json`; with `--record FILE`, it writes them to this file. With `--small`, it uses few small test
//! volumes, for slow checkers of memory accesses.

#[path = "../../../kernels/tests/code_digest/mod.rs"]
mod code_digest;
mod oracle;
#[path = "../../../kernels/tests/parity/record.rs"]
mod record;
mod schemes;
#[path = "../../../kernels/tests/parity/world.rs"]
#[expect(dead_code, reason = "the schemes need a part of what the operations of registrations need")]
mod world;

use antsreg_kernels::Cuda;
use antsreg_lab::Error;
use record::Summary;
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let record = arguments.iter().position(|argument| argument == "--record");
    let file = record.map(|at| arguments.get(at + 1).cloned().unwrap_or_else(record::default_file));
    let small = arguments.iter().any(|argument| argument == "--small");
    match check(&if small { World::small() } else { World::all() }) {
        Ok(summary) => {
            println!("{summary}");
            if let Some(file) = file {
                if small {
                    fail("a record needs the whole check");
                }
                let digest = code_digest::digest(&antsreg_lab::schemes::CODE);
                if let Err(error) = std::fs::write(&file, record::json(&summary, &digest)) {
                    fail(&format!("{file}: {error}"));
                }
            }
            if summary.failed() {
                fail("schemes differ from double precision");
            }
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(reason: &str) -> ! {
    eprintln!("parity: {reason}");
    std::process::exit(1)
}

fn check(worlds: &[World]) -> Result<Summary, Error> {
    let (cuda, compiling) = (Cuda::open(0)?, Cuda::open_compiling(0)?);
    let mut summary = Summary::new(cuda.info());
    for device in [&cuda, &compiling] {
        schemes::check(device, worlds, &mut summary)?;
    }
    Ok(summary)
}
