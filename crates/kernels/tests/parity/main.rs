//! Runs every operation of the backend on the CPU and on a CUDA device with the same generic calls, and compares the
//! results. The device's results are also compared with those of a second run, for which the driver compiles the
//! kernels from PTX.
//!
//! The test runs only when named (`cargo test -p antsreg-kernels --test parity`), because it needs a device and fails
//! without one. With `--record [FILE]`, the test writes a record of what it tested to FILE, by default
//! `cu/checked.json`; `--describe FILE` and `--described FILE` are for machines without the sources. `--count` needs no
//! device: it counts the results of each operation. A world is a set of test operands. For slow checkers of memory accesses, `--small` uses a few
//! small worlds, and `--world NAME` uses only the world with this name.

mod bias;
mod costs;
mod fusion;
mod inspected;
mod operations;
#[path = "../record/mod.rs"]
#[expect(dead_code, reason = "tests/checked.rs judges records")]
mod record;
mod sides;
mod world;

use antsreg_kernels::{Cpu, Cuda, Error};
use operations::{Outcome, run, run_large};
use record::{Options, Record, Sources};
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let small = arguments.iter().any(|argument| argument == "--small");
    let world = arguments.iter().position(|argument| argument == "--world").map(|at| arguments.get(at + 1));
    let mut worlds = if small { World::small() } else { World::all() };
    worlds.retain(|candidate| world.is_none_or(|name| name.is_some_and(|name| name == candidate.name)));
    if worlds.is_empty() {
        fail("there is no such world");
    }
    let whole = !small && world.is_none();
    if arguments.iter().any(|argument| argument == "--count") {
        return count(&worlds, whole).unwrap_or_else(|error| fail(&error.to_string()));
    }
    let folders = ["src/cuda", "tests/parity"];
    let options = Options::read(&arguments, concat!(env!("CARGO_MANIFEST_DIR"), "/cu/checked.json"), || {
        Sources::of(env!("CARGO_MANIFEST_DIR"), &folders, antsreg_kernels::cuda::all_code().into_values())
    });
    if options.record.is_some() && !whole {
        fail("a record needs the whole check");
    }
    match check(&worlds, whole, &options) {
        Ok(record) => {
            println!("{record}");
            options.write(&record);
            if record.differ > 0 {
                fail("CPU and CUDA differ");
            }
        }
        Err(error) => fail(&error.to_string()),
    }
}

/// Prints the number of results of each operation, which the CPU alone shows.
fn count(worlds: &[World], large: bool) -> Result<(), Error> {
    let mut results = std::collections::BTreeMap::<String, usize>::new();
    let mut outcomes = Vec::new();
    for world in worlds {
        outcomes.extend(run(&Cpu, world)?.into_iter().map(|outcome| outcome.operation));
    }
    if large {
        outcomes.extend(run_large(&Cpu)?.into_iter().map(|outcome| outcome.operation));
    }
    for operation in outcomes {
        *results.entry(record::name(&operation).into()).or_default() += 1;
    }
    results.iter().for_each(|(name, count)| println!("{name} {count}"));
    Ok(())
}

fn fail(reason: &str) -> ! {
    eprintln!("parity: {reason}");
    std::process::exit(1)
}

/// Compares the results of the CPU with those of two runs on a device, and adds the comparisons to the record.
fn add(record: &mut Record, world: &str, cpu: &[Outcome], [first, second]: [&[Outcome]; 2]) {
    for ((cpu, first), second) in cpu.iter().zip(first).zip(second) {
        let difference = compare(cpu, first, second);
        if let Some(difference) = &difference {
            println!("{world:<14} {:<28} {difference}", cpu.operation);
        }
        record.add(&cpu.operation, cpu.values.len(), difference.is_some());
    }
}

fn check(worlds: &[World], large: bool, options: &Options) -> Result<Record, Error> {
    let (cuda, compiling) = (Cuda::open(0)?, Cuda::open_compiling(0)?);
    let mut record = options.begin(cuda.info());
    for world in worlds {
        add(&mut record, world.name, &run(&Cpu, world)?, [&run(&cuda, world)?, &run(&compiling, world)?]);
    }
    if large {
        add(&mut record, "large", &run_large(&Cpu)?, [&run_large(&cuda)?, &run_large(&compiling)?]);
    }
    Ok(record)
}

/// Compares a result of the CPU with the results of two runs on the GPU. Returns a description of the difference, if
/// there is one.
fn compare(cpu: &Outcome, cuda: &Outcome, again: &Outcome) -> Option<String> {
    if cpu.operation != cuda.operation || cpu.values.len() != cuda.values.len() {
        return Some("results do not correspond".into());
    }
    if cuda.values.iter().zip(&again.values).any(|(a, b)| a.to_bits() != b.to_bits()) {
        return Some("two runs, machine code and PTX, gave different bits".into());
    }
    let largest = cpu.values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let allowed = cpu.tolerance * largest.max(1e-30);
    let mut worst = (0.0, 0);
    let mut beyond = 0;
    for (at, (a, b)) in cpu.values.iter().zip(&cuda.values).enumerate() {
        let difference = (a - b).abs();
        // Two values that are both NaN count as equal.
        if (difference.is_nan() || difference > allowed) && !(a.is_nan() && b.is_nan()) {
            beyond += 1;
        }
        if difference > worst.0 {
            worst = (difference, at);
        }
    }
    if std::env::var_os("PARITY_VERBOSE").is_some() {
        println!("    {:<28} worst {:.2e} of {:.3e}, allowed {:.1e}", cpu.operation, worst.0, largest, allowed);
    }
    (beyond > 0).then(|| {
        let (difference, at) = worst;
        format!(
            "{beyond} of {} beyond {allowed:.2e}; worst {difference:.3e} at {at}: CPU {}, CUDA {} ({})",
            cpu.values.len(),
            cpu.values[at],
            cuda.values[at],
            cpu.cause,
        )
    })
}
