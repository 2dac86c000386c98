//! Measures the times of GPU algorithms for histograms, as shown in the figures of the papers on these algorithms.

use crate::schemes::{CrScheme, MiScheme, Order, Pair, Settings};

use super::plot::{Curve, Figure};
use super::setup::Setup;
use super::subject::{How, Subject};
use super::table::{mi_settings, microseconds};
use crate::error::Error;

const BLOCKS: [usize; 6] = [64, 128, 256, 512, 1024, 2048];
const THREADS: [usize; 6] = [32, 64, 128, 256, 512, 1024];
const CR_BINS: [usize; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
const SEGMENTS: [usize; 11] = [128, 256, 512, 768, 1280, 2560, 5120, 10_240, 40_960, 163_840, 655_360];
const EDGES: [usize; 9] = [0, 2, 4, 8, 16, 24, 34, 48, 64];
const MI_BINS: [usize; 10] = [8, 16, 32, 64, 96, 128, 160, 192, 224, 256];

/// The five algorithms for which Li 2015 varies the number of blocks and of threads.
const LI: [CrScheme; 5] = [
    CrScheme::GlobalAtomic,
    CrScheme::GlobalMerge,
    CrScheme::SharedAtomic,
    CrScheme::SharedMerge,
    CrScheme::SharedWarp,
];

/// The histogram algorithms that were designed for this crate, for current GPUs.
const OURS: [CrScheme; 3] = [CrScheme::Tiled, CrScheme::Slabs, CrScheme::Skipping];

fn brain<'l>(setup: &'l Setup<'_>, figure: &'static str) -> Result<&'l Subject, Error> {
    setup.brain.as_ref().ok_or(Error::NoBrain { figure })
}

fn pair<'s>(setup: &Setup<'_>, subject: &'s Subject, how: How, edge: f64, bins: usize) -> Result<Pair<'s>, Error> {
    setup.histograms.pair(&subject.fixed, subject.values(how, edge), bins)
}

/// Measures a curve of a figure: an algorithm's times in microseconds at the given positions. If the device has too
/// little memory for the algorithm, the curve has a gap.
fn curve<X: Copy>(
    name: impl Into<String>,
    positions: &[X],
    at: impl Fn(X) -> f64,
    time: impl Fn(X) -> Result<Option<f64>, Error>,
) -> Result<Curve, Error> {
    let mut points = Vec::new();
    for position in positions {
        if let Some(seconds) = time(*position)? {
            points.push((at(*position), microseconds(seconds)));
        }
    }
    Ok(Curve { name: name.into(), points })
}

fn number(n: usize) -> f64 {
    n as f64
}

const PRINTED: Settings =
    Settings { blocks: Some(1024), threads: 256, segment: 768, order: Order::Intensity, shared: 48 << 10 };

/// Settings of an algorithm for the figures. An algorithm of Li 2015 gets the number of blocks of that paper; an
/// algorithm of this crate chooses its number of blocks itself.
fn settings(scheme: CrScheme) -> Settings {
    if OURS.contains(&scheme) { Settings { blocks: None, ..PRINTED } } else { PRINTED }
}

/// All algorithms for the correlation ratio except the slowest, which would take too long.
fn quick() -> Vec<CrScheme> {
    let own = [CrScheme::ConflictFree].into_iter().chain(OURS);
    LI.into_iter().filter(|scheme| *scheme != CrScheme::GlobalMerge).chain(own).collect()
}

/// Measures Figures 6 to 8 of Li 2015: time of the correlation ratio as a function of the number of thread blocks.
pub fn li_blocks(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let pair = pair(setup, brain(setup, "li-blocks")?, How::Filtered, 0.0, 256)?;
    let time = |scheme, blocks: Option<usize>| setup.time_cr(&pair, scheme, &Settings { blocks, ..PRINTED });
    let mut curves = Vec::new();
    for scheme in LI {
        curves.push(curve(scheme.name(), &BLOCKS, number, |blocks| time(scheme, Some(blocks)))?);
    }
    // The algorithm conflict_free needs a fixed number of thread blocks, one for each group of sorted voxels. So it is
    // measured once and drawn as a horizontal line.
    let own = time(CrScheme::ConflictFree, None)?;
    curves.push(curve("conflict_free", &BLOCKS, number, |_| Ok(own))?);
    for scheme in OURS {
        curves.push(curve(scheme.name(), &BLOCKS, number, |blocks| time(scheme, Some(blocks)))?);
    }
    let title = "Correlation ratio, 256 bins, 256 threads a block (Li 2015, Figures 6 to 8)".into();
    Ok(vec![Figure { name: "li-blocks", title, x: "blocks", y: "µs", log: [true, true], curves }])
}

/// Measures Figures 9 to 11 of Li 2015: time of the correlation ratio as a function of the number of threads of a
/// block.
pub fn li_threads(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let pair = pair(setup, brain(setup, "li-threads")?, How::Filtered, 0.0, 256)?;
    let mut curves = Vec::new();
    for scheme in LI.into_iter().chain([CrScheme::ConflictFree]) {
        curves.push(curve(scheme.name(), &THREADS, number, |threads| {
            setup.time_cr(&pair, scheme, &Settings { threads, ..PRINTED })
        })?);
    }
    for scheme in OURS {
        let own = setup.time_cr(&pair, scheme, &settings(scheme))?;
        curves.push(curve(format!("{} (256)", scheme.name()), &THREADS, number, |_| Ok(own))?);
    }
    let title = "Correlation ratio, 256 bins, 1024 blocks (Li 2015, Figures 9 to 11)".into();
    Ok(vec![Figure { name: "li-threads", title, x: "threads a block", y: "µs", log: [true, true], curves }])
}

/// Measures Figures 12 to 14 of Li 2015: time of the correlation ratio as a function of the number of bins.
pub fn li_bins(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let all: Vec<CrScheme> = LI.into_iter().chain([CrScheme::ConflictFree]).chain(OURS).collect();
    let mut curves: Vec<Curve> =
        all.iter().map(|scheme| Curve { name: scheme.name().into(), points: Vec::new() }).collect();
    for bins in CR_BINS {
        let pair = pair(setup, brain(setup, "li-bins")?, How::Filtered, 0.0, bins)?;
        for (scheme, curve) in all.iter().zip(&mut curves) {
            if let Some(seconds) = setup.time_cr(&pair, *scheme, &settings(*scheme))? {
                curve.points.push((bins as f64, microseconds(seconds)));
            }
        }
    }
    let title = "Correlation ratio, 1024 blocks of 256 threads (Li 2015, Figures 12 to 14)".into();
    Ok(vec![Figure { name: "li-bins", title, x: "bins", y: "µs", log: [true, true], curves }])
}

/// Measures Figure 17 of Li 2015: time of the correlation ratio as a function of the segment length, the largest number
/// of sorted voxels that a thread block adds up.
pub fn li_segment(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let pair = pair(setup, brain(setup, "li-segment")?, How::Filtered, 0.0, 256)?;
    let mut curves = Vec::new();
    for (name, threads, order) in [
        ("as printed, 128 threads", 128, Order::Intensity),
        ("as printed, 256 threads", 256, Order::Intensity),
        ("in bricks, 128 threads", 128, Order::Bricks),
        ("in bricks, 256 threads", 256, Order::Bricks),
    ] {
        curves.push(curve(name, &SEGMENTS, number, |segment| {
            setup.time_cr(&pair, CrScheme::ConflictFree, &Settings { threads, order, segment, ..PRINTED })
        })?);
    }
    let title = "conflict_free, 256 bins (Li 2015, Figure 17)".into();
    Ok(vec![Figure {
        name: "li-segment", title, x: "voxels of a block at most", y: "µs", log: [true, true], curves
    }])
}

/// Measures Figure 18 of Li 2015: time of the correlation ratio as a function of the weighting distance, the width of
/// the zone at the image border where weights fall to 0.
pub fn li_weighting(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let all = quick();
    let mut curves: Vec<Curve> =
        all.iter().map(|scheme| Curve { name: scheme.name().into(), points: Vec::new() }).collect();
    for edge in EDGES {
        let pair = pair(setup, brain(setup, "li-weighting")?, How::Filtered, edge as f64, 256)?;
        for (scheme, curve) in all.iter().zip(&mut curves) {
            if let Some(seconds) = setup.time_cr(&pair, *scheme, &settings(*scheme))? {
                curve.points.push((edge as f64, microseconds(seconds)));
            }
        }
    }
    let title = "Correlation ratio, 256 bins (Li 2015, Figure 18)".into();
    Ok(vec![Figure {
        name: "li-weighting",
        title,
        x: "weighting distance, voxels",
        y: "µs",
        log: [false, true],
        curves,
    }])
}

/// Measures times of joint histograms for the numbers of bins that Brosch and Shams compare.
fn over_bins(
    setup: &Setup<'_>,
    subject: &Subject,
    schemes: &[(MiScheme, &str)],
    value: impl Fn(f64) -> f64,
) -> Result<Vec<Curve>, Error> {
    let mut curves: Vec<Curve> =
        schemes.iter().map(|(_, name)| Curve { name: (*name).into(), points: Vec::new() }).collect();
    for bins in MI_BINS {
        let pair = pair(setup, subject, How::Given, 0.0, bins)?;
        for ((scheme, _), curve) in schemes.iter().zip(&mut curves) {
            if let Some(seconds) = setup.time_joint(&pair, *scheme, &mi_settings(setup, *scheme))? {
                curve.points.push((bins as f64, value(seconds)));
            }
        }
    }
    Ok(curves)
}

/// Measures Figure 2 of Brosch 2009: time of joint histograms as a function of the number of bins.
pub fn brosch_bins(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let schemes = [
        (MiScheme::WarpShadows, "Shams, method 1"),
        (MiScheme::ThreadShadows, "Shams, method 2"),
        (MiScheme::Adaptive, "adaptive"),
        (MiScheme::GlobalAtomic, "global_atomic"),
        (MiScheme::Slabs16, "slabs_16"),
    ];
    let curves = over_bins(setup, brain(setup, "brosch-bins")?, &schemes, microseconds)?;
    let title = "Joint histogram of a fixed and a moving brain (Brosch 2009, Figure 2)".into();
    Ok(vec![Figure { name: "brosch-bins", title, x: "bins of either image", y: "µs", log: [false, true], curves }])
}

/// Measures Figure 7 of Shams 2010: throughput of joint histograms as a function of the number of bins.
pub fn shams_bins(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let schemes = [
        (MiScheme::WarpShadows, "method 1"),
        (MiScheme::ThreadShadows, "method 2"),
        (MiScheme::SortCount, "sort and count"),
        (MiScheme::Columns, "columns (Sun)"),
        (MiScheme::Rows, "sorted_rows"),
        (MiScheme::Slabs32, "slabs_32"),
        (MiScheme::Slabs16, "slabs_16"),
    ];
    let uniform = Subject::uniform(setup.shape())?;
    let mut figures = Vec::new();
    for (name, subject, which) in [
        ("shams-bins-uniform", Some(&uniform), "a: uniform"),
        ("shams-bins-brain", setup.brain.as_ref(), "b: a brain"),
    ] {
        let Some(subject) = subject else { continue };
        let voxels = subject.fixed.values().len() as f64;
        let curves = over_bins(setup, subject, &schemes, |seconds| voxels / seconds / 1e6)?;
        let title = format!("Joint histogram (Shams 2010, Figure 7 {which})");
        figures.push(Figure {
            name,
            title,
            x: "bins of either image",
            y: "10⁶ voxels/s",
            log: [false, true],
            curves,
        });
    }
    Ok(figures)
}

/// Measures the times of all histogram algorithms as functions of the share of voxels that fall into one bin.
pub fn distribution(setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
    let cr = quick();
    let named = |name: &str| Curve { name: name.into(), points: Vec::new() };
    let mut cr_curves: Vec<Curve> = cr.iter().map(|scheme| named(scheme.name())).collect();
    let mut mi_curves: Vec<Curve> = MiScheme::ALL.iter().map(|scheme| named(scheme.name())).collect();
    for percent in [0.0, 20.0, 40.0, 60.0, 80.0, 90.0, 100.0] {
        let subject = Subject::with_share(setup.shape(), percent / 100.0)?;
        let single = pair(setup, &subject, How::Given, 0.0, 256)?;
        for (scheme, curve) in cr.iter().zip(&mut cr_curves) {
            if let Some(seconds) = setup.time_cr(&single, *scheme, &settings(*scheme))? {
                curve.points.push((percent, microseconds(seconds)));
            }
        }
        let joint = pair(setup, &subject, How::Given, 0.0, 128)?;
        for (scheme, curve) in MiScheme::ALL.iter().zip(&mut mi_curves) {
            if let Some(seconds) = setup.time_joint(&joint, *scheme, &mi_settings(setup, *scheme))? {
                curve.points.push((percent, microseconds(seconds)));
            }
        }
    }
    let figure = |name, title: &str, curves| Figure {
        name,
        title: title.into(),
        x: "% of voxels in one bin",
        y: "µs",
        log: [false, true],
        curves,
    };
    Ok(vec![
        figure("distribution-cr", "Correlation ratio, 256 bins, moving values without interpolation", cr_curves),
        figure("distribution-mi", "Joint histogram, 128² bins, moving values without interpolation", mi_curves),
    ])
}
