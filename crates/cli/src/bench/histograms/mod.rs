//! `bench histograms`: the histogram schemes of the literature on the GPU at hand, as tables and plots.

mod accuracy;
mod figures;
mod lab;
mod plot;
mod reference;
mod schemes;
mod subject;

use std::path::PathBuf;

use antsreg_kernels::cuda::histograms::Histograms;
use clap::ValueEnum;

use crate::device::DeviceChoice;
use crate::error::CliError;
use crate::progress::Console;
use crate::{inputs, table};
use antsreg_core::io::outputs::{self, Outputs};
use lab::Lab;
use plot::Figure;

/// Time the histogram schemes of the literature on a GPU, as its papers' figures do.
///
/// Writes a table (CSV) and a plot (SVG) for each figure into the folder.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Folder for tables and plots; it must exist
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// A brain at 1 mm, the fixed image [default: none, and figures that need one are left out]
    #[arg(long, value_name = "IMAGE")]
    image: Option<PathBuf>,
    /// The moving image [default: the fixed one]. It is sampled turned by a few degrees about its centre of mass
    #[arg(long, value_name = "IMAGE", requires = "image")]
    moving: Option<PathBuf>,
    /// Only these, with commas between them [default: all]
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// The GPU to measure: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: DeviceChoice,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Every scheme on a brain, uniform and degenerate data, checked against double precision
    Schemes,
    /// Li 2015, Figures 6 to 8: blocks
    LiBlocks,
    /// Li 2015, Figures 9 to 11: threads of a block
    LiThreads,
    /// Li 2015, Figures 12 to 14: bins
    LiBins,
    /// Li 2015, Figure 17: voxels of a segment
    LiSegment,
    /// Li 2015, Figure 18: weighting distance
    LiWeighting,
    /// Li 2015, Figure 19: error after registrations with several weighting distances
    LiAccuracy,
    /// Brosch 2009, Figure 2: bins, joint histograms
    BroschBins,
    /// Shams 2010, Figure 7: throughput against bins, uniform data and a brain
    ShamsBins,
    /// Share of voxels that fall into one bin
    Distribution,
}

impl Part {
    fn needs_brain(self) -> bool {
        !matches!(self, Part::Schemes | Part::ShamsBins | Part::Distribution)
    }

    fn figures(self, lab: &Lab<'_>) -> Result<Vec<Figure>, CliError> {
        match self {
            Part::Schemes => Ok(Vec::new()),
            Part::LiBlocks => figures::li_blocks(lab),
            Part::LiThreads => figures::li_threads(lab),
            Part::LiBins => figures::li_bins(lab),
            Part::LiSegment => figures::li_segment(lab),
            Part::LiWeighting => figures::li_weighting(lab),
            Part::LiAccuracy => accuracy::li_accuracy(lab),
            Part::BroschBins => figures::brosch_bins(lab),
            Part::ShamsBins => figures::shams_bins(lab),
            Part::Distribution => figures::distribution(lab),
        }
    }
}

/// Runs `bench histograms`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    outputs::check_writable(&args.output.join("schemes.csv"))?;
    let image = args.image.as_deref().map(inputs::image).transpose()?;
    let moving = args.moving.as_deref().map(inputs::image).transpose()?;
    let cuda = super::gpu(args.device, "bench histograms", console)?;
    let histograms = Histograms::open(&cuda).map_err(CliError::Device)?;
    let lab = Lab::new(&cuda, &histograms, image, moving)?;
    let all = Part::value_variants();
    let wanted = if args.only.is_empty() { all } else { &args.only };
    let mut outputs = Outputs::new();
    for part in wanted {
        if part.needs_brain() && lab.brain.is_none() {
            console.warn(format_args!("{} is left out: it needs --image", crate::values::name(part)));
            continue;
        }
        let mut write = |name: String, text: String| {
            outputs.write(&args.output.join(name), |path| {
                std::fs::write(path, text).map_err(|source| CliError::Write { path: path.into(), source })
            })
        };
        if *part == Part::Schemes {
            let rows = schemes::measure(&lab)?;
            crate::output::print(&table::render(&schemes::shown(&rows)))?;
            write("schemes.csv".into(), schemes::csv(&rows))?;
        }
        for figure in part.figures(&lab)? {
            crate::output::print(&format!("\n{}\n{}", figure.title, table::render(&figure.rows())))?;
            write(format!("{}.csv", figure.name), figure.csv())?;
            write(format!("{}.svg", figure.name), figure.svg()?)?;
        }
    }
    for file in outputs.commit()? {
        console.note(format_args!("wrote {}", file.display()));
    }
    Ok(())
}
