//! Measures on the GPU of this machine how fast the histogram algorithms of several papers are. Results are tables and
//! plots.

mod accuracy;
mod figures;
pub(crate) mod plot;
pub(crate) mod reference;
pub(crate) mod setup;
pub(crate) mod subject;
pub(crate) mod table;

use std::path::PathBuf;

use antsreg_core::io::nifti;
use clap::ValueEnum;

use crate::device::DeviceChoice;
use crate::error::Error;
use crate::output;
use crate::schemes::Histograms;
use plot::Figure;
use setup::Setup;

/// Measure the speed of GPU histogram algorithms of several papers, as in their figures.
///
/// Writes a table (CSV) and a plot (SVG) for each figure into the folder.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Folder for tables and plots. The folder must exist
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Fixed image: a brain at 1 mm [default: none; figures that need a brain are left out]
    #[arg(long, value_name = "IMAGE")]
    image: Option<PathBuf>,
    /// Moving image [default: the fixed image]. It is sampled after a rotation by a few degrees about its centre of
    /// mass
    #[arg(long, value_name = "IMAGE", requires = "image")]
    moving: Option<PathBuf>,
    /// Names of the measurements to run, separated by commas [default: all]
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// GPU to measure: cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: DeviceChoice,
}

/// The measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Every algorithm on a brain, on uniform noise and on a constant image, checked against double precision
    Schemes,
    /// Li 2015, Figures 6 to 8: time over the number of blocks
    LiBlocks,
    /// Li 2015, Figures 9 to 11: time over the number of threads per block
    LiThreads,
    /// Li 2015, Figures 12 to 14: time over the number of bins
    LiBins,
    /// Li 2015, Figure 17: time over the largest number of sorted voxels that a thread block adds up
    LiSegment,
    /// Li 2015, Figure 18: time over the width of the zone at the image border where weights fall to 0
    LiWeighting,
    /// Li 2015, Figure 19: image difference after registration over the width of the zone at the image border where
    /// weights fall to 0
    LiAccuracy,
    /// Brosch 2009, Figure 2: time of joint histograms over the number of bins
    BroschBins,
    /// Shams 2010, Figure 7: throughput over the number of bins, for uniform noise and a brain
    ShamsBins,
    /// Time of all algorithms over the share of voxels that fall into one histogram bin
    Distribution,
}

impl Part {
    fn needs_brain(self) -> bool {
        !matches!(self, Part::Schemes | Part::ShamsBins | Part::Distribution)
    }

    pub(crate) fn figures(self, setup: &Setup<'_>) -> Result<Vec<Figure<'static>>, Error> {
        match self {
            Part::Schemes => Ok(Vec::new()),
            Part::LiBlocks => figures::li_blocks(setup),
            Part::LiThreads => figures::li_threads(setup),
            Part::LiBins => figures::li_bins(setup),
            Part::LiSegment => figures::li_segment(setup),
            Part::LiWeighting => figures::li_weighting(setup),
            Part::LiAccuracy => accuracy::li_accuracy(setup),
            Part::BroschBins => figures::brosch_bins(setup),
            Part::ShamsBins => figures::shams_bins(setup),
            Part::Distribution => figures::distribution(setup),
        }
    }
}

/// Runs the chosen measurements, prints their tables, and writes tables and plots into the folder.
pub fn run(args: &Args) -> Result<(), Error> {
    output::check_folder(&args.output.join("schemes.csv"))?;
    let image = args.image.as_deref().map(nifti::read_volume).transpose()?;
    let moving = args.moving.as_deref().map(nifti::read_volume).transpose()?;
    let cuda = args.device.open_gpu()?;
    let histograms = Histograms::open(&cuda)?;
    let setup = Setup::new(&cuda, &histograms, image, moving)?;
    let all = Part::value_variants();
    let wanted = if args.only.is_empty() { all } else { &args.only };
    let mut files = output::Files::default();
    for part in wanted {
        if part.needs_brain() && setup.brain.is_none() {
            let name = part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            output::note(format_args!(
                "warning: {name} is left out, because it needs an image of a brain: expected --image"
            ));
            continue;
        }
        if *part == Part::Schemes {
            let rows = table::measure(&setup)?;
            output::print(&output::table(&table::shown(&rows)))?;
            files.add(args.output.join("schemes.csv"), table::csv(&rows));
        }
        for figure in part.figures(&setup)? {
            output::print(&format!("\n{}\n{}", figure.title, output::table(&figure.rows())))?;
            files.add(args.output.join(format!("{}.csv", figure.name)), figure.csv());
            files.add(args.output.join(format!("{}.svg", figure.name)), figure.svg()?);
        }
    }
    files.write()
}
