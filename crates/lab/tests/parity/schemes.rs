//! Tests every GPU algorithm for histograms against expected results in double precision. Moving values are given,
//! interpolated in single precision, or interpolated by the texture unit. The data are structured values, uniform
//! noise, and values that all fall into one bin.

use antsreg_kernels::{Cuda, Error as DeviceError};
use antsreg_lab::Error;
use antsreg_lab::schemes::{CrScheme, CrSums, FixedVolume, Histograms, MiScheme, Order, Pair, Settings, Values};

use crate::oracle::{Bins, Case, Oracle};
use crate::record::Record;
use crate::world::World;

/// Runs all histogram algorithms on all test cases and adds the results to the record.
pub fn check(cuda: &Cuda, worlds: &[World], record: &mut Record) -> Result<(), Error> {
    let histograms = Histograms::open(cuda)?;
    // Assumed number of thread blocks for the algorithms that launch as many blocks as the device can run at once.
    let least_blocks = cuda.info().multiprocessors as usize;
    for world in worlds {
        for case in Case::all(world) {
            let volume = FixedVolume::new(case.shape, case.fixed.clone())?;
            let voxel_bins = volume.binned(case.bins);
            let range = Bins::of(&case.fixed, case.bins);
            for (value, bin) in case.fixed.iter().zip(&voxel_bins) {
                let (expected, other) = range.find(f64::from(*value), 1e-6);
                assert!(usize::from(*bin) == expected || Some(usize::from(*bin)) == other, "{value} in bin {bin}");
            }
            let oracle = Oracle::new(&case, &voxel_bins);
            let pair = histograms.pair(&volume, case.values(), case.bins)?;
            let mut note = |scheme: &str, values: usize, difference: Option<String>| {
                record.add("schemes", values, difference.is_some());
                if let Some(difference) = difference {
                    println!("{:<14} {} {}: {scheme}: {difference}", world.name, case.name, case.bins);
                }
            };
            for (scheme, settings) in cr_settings() {
                match run_sums(&histograms, &pair, scheme, &settings) {
                    Ok((first, second)) => {
                        let again = scheme.deterministic() && first != second;
                        let again = again.then(|| "two runs gave different bits".to_owned());
                        let difference = again.or_else(|| {
                            let blocks = settings.blocks.unwrap_or(least_blocks);
                            oracle.check_sums(&case, (scheme, &settings), blocks, &first)
                        });
                        note(scheme.name(), 3 * case.bins, difference);
                    }
                    // With this number of bins, the algorithm needs more shared memory than the device has. This error
                    // is expected for `SharedWarp` of Li 2015, which needs a table of sums for each warp.
                    Err(Error::Device(DeviceError::SharedMemory { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
            for (scheme, settings, adapted) in mi_settings() {
                let mut previous = None;
                for _ in 0..if adapted { 2 } else { 1 } {
                    let mut plan = histograms.joint(&pair, scheme, &settings, previous.as_deref())?;
                    plan.run()?;
                    plan.run()?;
                    let counts = plan.joint()?;
                    note(scheme.name(), counts.len(), oracle.check_counts(&counts));
                    previous = Some(counts);
                }
            }
        }
    }
    refusals(&histograms, record)
}

fn run_sums(
    histograms: &Histograms<'_>,
    pair: &Pair<'_>,
    scheme: CrScheme,
    settings: &Settings,
) -> Result<(CrSums, CrSums), Error> {
    let mut plan = histograms.correlation_ratio(pair, scheme, settings)?;
    plan.run()?;
    let first = plan.sums()?;
    plan.run()?;
    Ok((first, plan.sums()?))
}

/// Algorithms for the correlation ratio to test: each with the settings of the figures, and some also with other
/// settings.
fn cr_settings() -> Vec<(CrScheme, Settings)> {
    let usual = Settings { blocks: Some(24), ..Settings::default() };
    let mut all: Vec<_> = CrScheme::ALL.map(|scheme| (scheme, usual)).into();
    all.extend([
        (CrScheme::SharedMerge, Settings { blocks: Some(3), threads: 1024, ..usual }),
        (CrScheme::SharedWarp, Settings { blocks: None, threads: 64, ..usual }),
        (CrScheme::ConflictFree, Settings { segment: 100, threads: 32, ..usual }),
        (CrScheme::ConflictFree, Settings { segment: 8192, order: Order::Bricks, ..usual }),
        (CrScheme::Tiled, Settings { blocks: None, ..usual }),
        (CrScheme::Tiled, Settings { blocks: Some(1), ..usual }),
        (CrScheme::Slabs, Settings { blocks: None, ..usual }),
        (CrScheme::Slabs, Settings { blocks: Some(1), ..usual }),
        (CrScheme::Skipping, Settings { blocks: None, ..usual }),
        (CrScheme::Skipping, Settings { blocks: Some(1), ..usual }),
    ]);
    all
}

/// Algorithms and settings for joint histograms. If the last value of an entry is true, a second histogram of the same
/// images is computed, and the algorithm adapts to the first.
fn mi_settings() -> Vec<(MiScheme, Settings, bool)> {
    let usual = Settings { blocks: Some(16), threads: 128, ..Settings::default() };
    let mut all: Vec<_> = MiScheme::ALL.map(|scheme| (scheme, usual, scheme == MiScheme::Adaptive)).into();
    all.extend([
        (MiScheme::WarpShadows, Settings { shared: 16 << 10, ..usual }, false),
        (MiScheme::SortCount, Settings { threads: 1024, blocks: Some(4), ..usual }, false),
        (MiScheme::Adaptive, Settings { shared: 1000, threads: 256, ..usual }, true),
        (MiScheme::ThreadShadows, Settings { threads: 32, shared: 200 << 10, ..usual }, false),
        (MiScheme::Slabs16, Settings { blocks: None, threads: 512, ..usual }, true),
        (MiScheme::Slabs32, Settings { blocks: None, threads: 256, ..usual }, true),
        (MiScheme::Skipping, Settings { blocks: None, threads: 512, ..usual }, false),
        (MiScheme::Skipping, Settings { blocks: Some(1), threads: 1024, ..usual }, false),
    ]);
    all
}

fn refusals(histograms: &Histograms<'_>, record: &mut Record) -> Result<(), Error> {
    let values = [0.0, 0.25, 0.5, 1.0];
    let volume = FixedVolume::new([2, 2, 1], values.to_vec())?;
    for (bins, possible) in [(0, false), (1, false), (2, true), (1024, true), (1025, false)] {
        let refused = matches!(histograms.pair(&volume, Values::Given(&values), bins), Err(Error::Bins { .. }));
        record.add("refusals", 1, refused == possible);
        if refused == possible {
            println!("{bins} bins: {}", if refused { "refused" } else { "not refused" });
        }
    }
    Ok(())
}
