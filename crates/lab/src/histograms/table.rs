//! Measures every GPU algorithm for histograms: its time, its deviation from double precision, and how fast it reads
//! its input, relative to the speed of a copy within device memory.

use crate::schemes::{CrScheme, MiScheme, Order, Settings};

use super::plot::rounded;
use super::reference::Reference;
use super::setup::Setup;
use super::subject::{How, Subject};
use crate::error::Error;

/// A row of the table of measured times: one algorithm on one kind of image data.
pub struct Row {
    what: &'static str,
    bins: usize,
    data: &'static str,
    how: How,
    scheme: String,
    seconds: f64,
    /// Speed relative to the algorithm `conflict_free` of Li 2015, which computes the correlation ratio with 256 bins
    /// on the same data.
    speedup: Option<f64>,
    /// Rate at which the algorithm reads its input, in bytes per second, relative to the rate of a copy within device
    /// memory.
    of_copying: f64,
    deviation: f64,
    agrees: bool,
}

/// Settings of the algorithm conflict_free of Li 2015: the segment length (largest number of voxels that a block adds
/// up) and the number of threads. With these settings, Figure 17 of the paper has the shortest times on three devices.
const PRINTED: [(usize, usize); 4] = [(512, 128), (512, 256), (768, 256), (1280, 256)];

/// The algorithms for the correlation ratio with their settings. Settings from Table 4 of Li 2015 are scaled to this
/// device.
fn cr_schemes() -> Vec<(String, CrScheme, Settings)> {
    let usual = Settings::default();
    let all = CrScheme::ALL.into_iter().filter(|scheme| *scheme != CrScheme::ConflictFree);
    let settings = |scheme| match scheme {
        CrScheme::GlobalMerge => Settings { blocks: Some(128), ..usual },
        CrScheme::SharedAtomic
        | CrScheme::SharedMerge
        | CrScheme::SharedWarp
        | CrScheme::Slabs
        | CrScheme::Skipping => Settings { blocks: None, ..usual },
        CrScheme::Tiled => Settings { blocks: Some(2048), ..usual },
        _ => usual,
    };
    let mut schemes: Vec<_> = all.map(|scheme| (scheme.name().to_owned(), scheme, settings(scheme))).collect();
    for (segment, threads) in PRINTED {
        let name = format!("conflict_free, {segment}, {threads} threads");
        schemes.push((name, CrScheme::ConflictFree, Settings { segment, threads, ..usual }));
    }
    let bricks = Settings { segment: 2560, threads: 128, order: Order::Bricks, ..usual };
    schemes.push(("conflict_free, 2560, in bricks".into(), CrScheme::ConflictFree, bricks));
    schemes
}

/// Settings (such as the number of thread blocks) with which an algorithm for joint histograms is measured on this
/// device.
pub fn mi_settings(setup: &Setup<'_>, scheme: MiScheme) -> Settings {
    let usual = Settings { blocks: None, ..Settings::default() };
    let most = setup.histograms.most_shared();
    match scheme {
        MiScheme::GlobalAtomic => Settings { blocks: Some(1024), ..usual },
        MiScheme::WarpShadows => Settings { threads: 256, shared: most / 2 - 1024, ..usual },
        MiScheme::ThreadShadows => Settings { threads: 64, shared: most / 2 - 1024, ..usual },
        MiScheme::SortCount => Settings { blocks: Some(1024), threads: 256, ..usual },
        MiScheme::Adaptive => Settings { threads: 512, shared: most / 4 - 1024, ..usual },
        MiScheme::Columns => Settings { blocks: Some(16), threads: 256, ..usual },
        MiScheme::Rows => Settings { segment: 2048, threads: 128, order: Order::Bricks, ..usual },
        MiScheme::Slabs16 | MiScheme::Slabs32 | MiScheme::Skipping => Settings { threads: 512, ..usual },
    }
}

/// Measures all histogram algorithms on all kinds of image data.
pub fn measure(setup: &Setup<'_>) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for make in [Subject::uniform, Subject::degenerate] {
        let subject = make(setup.shape())?;
        measure_on(setup, &subject, &mut rows)?;
    }
    if let Some(brain) = &setup.brain {
        let mut own = Vec::new();
        measure_on(setup, brain, &mut own)?;
        rows.splice(0..0, own);
    }
    Ok(rows)
}

fn measure_on(setup: &Setup<'_>, subject: &Subject, rows: &mut Vec<Row>) -> Result<(), Error> {
    let filtered = measure_sums(setup, subject, How::Filtered, rows)?;
    let exact = measure_sums(setup, subject, How::Exact, rows)?;
    for bins in [64, 128, 256] {
        for (how, printed) in [(How::Given, None), (How::Filtered, Some(filtered)), (How::Exact, Some(exact))] {
            measure_joint(setup, subject, how, bins, printed, rows)?;
        }
    }
    Ok(())
}

/// Measures the times of all algorithms for the correlation ratio. Returns the time of the algorithm `conflict_free` of
/// Li 2015, with the fastest of its segment lengths.
fn measure_sums(setup: &Setup<'_>, subject: &Subject, how: How, rows: &mut Vec<Row>) -> Result<f64, Error> {
    let first = rows.len();
    let pair = setup.histograms.pair(&subject.fixed, subject.values(how, 0.0), 256)?;
    // The deviation from double precision is measured with interpolation in single precision, even if the time is
    // measured with the texture unit. The eight-bit weights of the texture unit would hide all other errors.
    let exact = setup.histograms.pair(&subject.fixed, subject.values(How::Exact, 0.0), 256);
    let exact = exact?;
    let reference = Reference::new(subject, How::Exact, 256);
    let mut printed = f64::INFINITY;
    for (name, scheme, settings) in cr_schemes() {
        let Some(seconds) = setup.time_cr(&pair, scheme, &settings)? else { continue };
        if scheme == CrScheme::ConflictFree && settings.order == Order::Intensity {
            printed = printed.min(seconds);
        }
        let (deviation, agrees) = reference.compare_sums(scheme, &setup.sums(&exact, scheme, &settings)?);
        rows.push(Row {
            what: "CR",
            bins: 256,
            data: subject.name,
            how,
            scheme: name,
            seconds,
            speedup: None,
            of_copying: bytes(subject, how) / seconds / setup.bandwidth,
            deviation,
            agrees,
        });
    }
    rows[first..].iter_mut().for_each(|row| row.speedup = Some(printed / row.seconds));
    Ok(printed)
}

/// Measures the algorithms for joint histograms. Their speed is given relative to the algorithm `conflict_free` of Li
/// 2015 for the correlation ratio.
fn measure_joint(
    setup: &Setup<'_>,
    subject: &Subject,
    how: How,
    bins: usize,
    printed: Option<f64>,
    rows: &mut Vec<Row>,
) -> Result<(), Error> {
    let pair = setup.histograms.pair(&subject.fixed, subject.values(how, 0.0), bins)?;
    let compared = if how == How::Given { How::Given } else { How::Exact };
    let exact = setup.histograms.pair(&subject.fixed, subject.values(compared, 0.0), bins)?;
    let reference = Reference::new(subject, compared, bins);
    for scheme in MiScheme::ALL {
        let settings = mi_settings(setup, scheme);
        let Some(seconds) = setup.time_joint(&pair, scheme, &settings)? else { continue };
        let (deviation, agrees) = reference.compare_counts(&setup.joint(&exact, scheme, &settings)?);
        rows.push(Row {
            what: "MI",
            bins,
            data: subject.name,
            how,
            scheme: scheme.name().into(),
            seconds,
            speedup: printed.map(|printed| printed / seconds),
            of_copying: bytes(subject, how) / seconds / setup.bandwidth,
            deviation,
            agrees,
        });
    }
    Ok(())
}

/// Smallest number of bytes that a GPU algorithm for a histogram must read: two for the bin of each fixed voxel, and
/// four for each moving value.
fn bytes(subject: &Subject, how: How) -> f64 {
    let fixed = subject.fixed.values().len();
    (2 * fixed + 4 * if how == How::Given { fixed } else { subject.moving.len() }) as f64
}

fn cells(row: &Row) -> [String; 10] {
    [
        row.what.into(),
        row.bins.to_string(),
        row.data.into(),
        row.how.name().into(),
        row.scheme.clone(),
        format!("{:.1}", row.seconds * 1e6),
        row.speedup.map_or_else(String::new, |speedup| format!("{speedup:.2}")),
        format!("{:.1}", 100.0 * row.of_copying),
        if row.deviation == 0.0 { "0".into() } else { format!("{:.1e}", row.deviation) },
        if row.agrees { "yes".into() } else { "NO".into() },
    ]
}

const HEADER: [&str; 10] =
    ["what", "bins", "data", "values", "scheme", "us", "vs_printed", "copy_%", "deviation", "agrees"];

/// The table of measured times as text for the terminal.
pub fn shown(rows: &[Row]) -> Vec<Vec<String>> {
    std::iter::once(HEADER.map(String::from).to_vec()).chain(rows.iter().map(|row| cells(row).to_vec())).collect()
}

/// The table of measured times as CSV. Commas in the names of algorithms are removed.
pub fn csv(rows: &[Row]) -> String {
    let line =
        |cells: Vec<String>| cells.iter().map(|cell| cell.replace(", ", " ")).collect::<Vec<_>>().join(",") + "\n";
    shown(rows).into_iter().map(line).collect()
}

/// Converts seconds to microseconds and rounds the result, for figures.
pub fn microseconds(seconds: f64) -> f64 {
    rounded(seconds * 1e6).parse().unwrap_or(seconds * 1e6)
}
