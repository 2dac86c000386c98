//! Every operation of the backend on the CPU and on a CUDA device: the same generic calls, their results compared, and the
//! device's results compared with themselves from a second run, for which the driver compiles the kernels from their PTX.
//!
//! Runs only when named (`cargo test -p antsreg-kernels --test parity`), because it needs a device and fails without
//! one. With `--record` it writes what it ran on to `cu/checked.json`, or to the file named next. For slow checkers of memory
//! accesses, `--small` takes few small worlds, `--world` the one named next, and `--operations` or `--histograms` that part
//! alone.

#[path = "../code_digest/mod.rs"]
mod code_digest;

mod costs;
mod histograms;
mod inspected;
mod operations;
mod oracle;
mod record;
mod sides;
mod world;

use antsreg_kernels::{Cpu, Cuda, Error};
use operations::{Outcome, run, run_large};
use world::World;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let record = arguments.iter().position(|argument| argument == "--record");
    let file = record.map(|at| arguments.get(at + 1).cloned().unwrap_or_else(record::default_file));
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let (small, operations, histograms) = (given("--small"), given("--operations"), given("--histograms"));
    let world = arguments.iter().position(|argument| argument == "--world").map(|at| arguments.get(at + 1));
    let mut worlds = if small { World::small() } else { World::all() };
    worlds.retain(|candidate| world.is_none_or(|name| name.is_some_and(|name| name == candidate.name)));
    if worlds.is_empty() {
        fail("there is no such world");
    }
    let whole = !small && world.is_none();
    match check(&worlds, whole, operations || !histograms, histograms || !operations) {
        Ok(summary) => {
            println!("{summary}");
            if let Some(file) = file {
                if !whole || operations || histograms {
                    fail("a record needs the whole check");
                }
                if let Err(error) = std::fs::write(&file, record::json(&summary)) {
                    fail(&format!("{file}: {error}"));
                }
            }
            if summary.failed > 0 {
                fail("CPU and CUDA differ");
            }
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(reason: &str) -> ! {
    eprintln!("parity: {reason}");
    std::process::exit(1)
}

/// What was compared, and where.
pub struct Summary {
    device: String,
    capability: (u32, u32),
    driver: (u32, u32),
    compared: usize,
    values: usize,
    failed: usize,
}

impl Summary {
    fn add(&mut self, world: &str, cpu: &[Outcome], [first, second]: [&[Outcome]; 2]) {
        for ((cpu, first), second) in cpu.iter().zip(first).zip(second) {
            self.compared += 1;
            self.values += cpu.values.len();
            if let Some(difference) = compare(cpu, first, second) {
                self.failed += 1;
                println!("{world:<14} {:<28} {difference}", cpu.operation);
            }
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { device, driver, compared, values, failed, .. } = self;
        write!(
            out,
            "{device}, CUDA {}.{}: {compared} results of {values} values, {failed} differ",
            driver.0, driver.1
        )
    }
}

fn check(worlds: &[World], large: bool, operations: bool, histograms: bool) -> Result<Summary, Error> {
    let (cuda, compiling) = (Cuda::open(0)?, Cuda::open_compiling(0)?);
    let info = cuda.info();
    let mut summary = Summary {
        device: info.name.clone(),
        capability: info.capability,
        driver: info.driver,
        compared: 0,
        values: 0,
        failed: 0,
    };
    if histograms {
        histograms::check(&cuda, worlds, &mut summary)?;
        histograms::check(&compiling, worlds, &mut summary)?;
    }
    if !operations {
        return Ok(summary);
    }
    for world in worlds {
        summary.add(world.name, &run(&Cpu, world)?, [&run(&cuda, world)?, &run(&compiling, world)?]);
    }
    if large {
        summary.add("large", &run_large(&Cpu)?, [&run_large(&cuda)?, &run_large(&compiling)?]);
    }
    Ok(summary)
}

/// Why two results are not the same, if they are not.
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
        // NaN on both sides is agreement.
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
