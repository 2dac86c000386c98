//! Compares the results of every GPU algorithm for histograms with results in double precision. The kernels are tested
//! twice: from machine code, and compiled from their PTX by the driver.
//!
//! The test runs only when named (`cargo test -p antsreg-lab --test parity`), because it fails on a machine without a
//! CUDA device. With `--record`, it writes a record of what it tested to
//! `cu/checked.json`; with `--record FILE`, it writes them to this file. With `--small`, it uses few small test
//! volumes, for slow checkers of memory accesses.

mod oracle;
#[path = "../../../kernels/tests/record/mod.rs"]
#[expect(dead_code, reason = "tests/checked.rs judges records")]
mod record;
mod schemes;
#[path = "../../../kernels/tests/parity/world.rs"]
#[expect(dead_code, reason = "the schemes need a part of what the operations of registrations need")]
mod world;

use antsreg_kernels::Cuda;
use antsreg_lab::Error;
use record::{Options, Record, Sources};
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--small");
    let folders = ["src/schemes", "tests/parity"];
    let options = Options::read(&arguments, concat!(env!("CARGO_MANIFEST_DIR"), "/cu/checked.json"), || {
        Sources::of(env!("CARGO_MANIFEST_DIR"), &folders, &antsreg_lab::schemes::CODE)
    });
    if options.record.is_some() && small {
        fail("a record needs the whole check");
    }
    match check(&if small { World::small() } else { World::all() }, &options) {
        Ok(record) => {
            println!("{record}");
            options.write(&record);
            if record.differ > 0 {
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

fn check(worlds: &[World], options: &Options) -> Result<Record, Error> {
    let (cuda, compiling) = (Cuda::open(0)?, Cuda::open_compiling(0)?);
    let mut record = options.begin(cuda.info());
    for device in [&cuda, &compiling] {
        schemes::check(device, worlds, &mut record)?;
    }
    Ok(record)
}
