//! Every table and figure of the five papers: the paper's numbers beside what this machine measures
//! (`antsreg-lab papers`).

mod brosch;
mod context;
mod li;
mod list;
mod luo;
mod machine;
mod page;
mod registrations;
mod report;
mod scene;
mod sections;
mod shams;
mod shown;
mod sun;
mod timing;

use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::io::nifti;
use antsreg_core::{LabelVolume, Volume};

use crate::device::DeviceChoice;
use crate::error::Error;
use crate::histograms::setup::Setup;
use crate::schemes::Histograms;
use crate::{output, values};
use context::{Context, Gpu};
use list::{Item, Papers};
use report::Report;
use scene::Scene;
use shown::Shown;

/// Repeat every table and figure of the five papers on this machine.
///
/// Writes papers.html (a page with charts), papers.json (the numbers) and papers.md (the page as text) into the folder.
/// Without a GPU, the sections that need one say so. Without images, a synthetic brain is used.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Folder for the page. The folder must exist
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// A paper (li-2015, luo-2015, shams-2010, brosch-2009, sun-2010) or a measurement (such as luo-syn); several are
    /// separated by commas [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = known)]
    only: Vec<String>,
    /// Voxels of 2.5 mm, and no measurement that begins after 8 minutes
    #[arg(long)]
    small: bool,
    /// Smallest voxel size, mm. Images with smaller voxels are resampled [default: 1, with --small 2.5]
    #[arg(long, value_name = "MM", value_parser = values::positive)]
    mm: Option<f64>,
    /// Measurements that would begin after this time are left out, and say so [default: none, with --small 8]
    #[arg(long, value_name = "MINUTES", value_parser = values::positive)]
    minutes: Option<f64>,
    /// Fixed image: a T1 image of a brain [default: a synthetic brain]
    #[arg(long, value_name = "IMAGE", requires = "moving")]
    image: Option<PathBuf>,
    /// Moving image: a T1 image of another brain
    #[arg(long, value_name = "IMAGE", requires = "image")]
    moving: Option<PathBuf>,
    /// Label map of the fixed image
    #[arg(long, value_name = "LABELS", requires_all = ["image", "moving_labels"])]
    image_labels: Option<PathBuf>,
    /// Label map of the moving image
    #[arg(long, value_name = "LABELS", requires_all = ["image", "image_labels"])]
    moving_labels: Option<PathBuf>,
    /// T1, T2 and PD images of one head on one grid, in this order [default: those of a synthetic brain]
    #[arg(long, value_name = "IMAGES", value_delimiter = ',', requires = "image")]
    contrasts: Vec<PathBuf>,
    /// Device beside the CPU: cpu for none, cuda, cuda:N, or auto
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceChoice,
    /// Make the page from the papers.json of an earlier run, and measure nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "small", "mm", "minutes", "image", "contrasts"])]
    from: Option<PathBuf>,
}

/// Voxel size without `--small` and with it, mm.
const MM: [f64; 2] = [1.0, 2.5];
/// Time after which no measurement begins, with `--small`, minutes.
const SMALL_MINUTES: f64 = 8.0;

/// Checks a name for `--only`.
fn known(text: &str) -> Result<String, String> {
    let papers = Papers::read().map_err(|error| error.to_string())?.papers;
    if sections::NAMES.contains(&text) || papers.iter().any(|paper| paper.id == text) {
        return Ok(text.to_owned());
    }
    let names: Vec<String> = papers.into_iter().map(|paper| paper.id).collect();
    Err(format!("expected {} or {}, found `{text}`", names.join(", "), sections::NAMES.join(", ")))
}

/// Runs the measurements and writes the page.
pub fn run(args: &Args) -> Result<(), Error> {
    output::check_folder(&args.output.join("papers.html"))?;
    let report = match &args.from {
        Some(file) => read(file)?,
        None => measured(args)?,
    };
    let json = serde_json::to_string_pretty(&report).map_err(|error| Error::Page(error.to_string()))?;
    let mut files = output::Files::default();
    files.add(args.output.join("papers.html"), page::html(&report)?);
    files.add(args.output.join("papers.md"), page::markdown(&report));
    files.add(args.output.join("papers.json"), json + "\n");
    files.write()
}

fn read(file: &Path) -> Result<Report, Error> {
    let text = std::fs::read_to_string(file).map_err(|source| Error::Read { path: file.into(), source })?;
    serde_json::from_str(&text).map_err(|error| Error::NoReport { path: file.into(), reason: error.to_string() })
}

fn measured(args: &Args) -> Result<Report, Error> {
    let start = Instant::now();
    let papers = Papers::read().map_err(|error| Error::Page(error.to_string()))?;
    let scene = images_of(args)?;
    let images = scene.name.clone();
    let cuda = args.device.open()?;
    let histograms = cuda.as_ref().map(Histograms::open).transpose()?;
    let gpu = match (&cuda, &histograms) {
        (Some(cuda), Some(histograms)) => {
            let [fixed, moving] = scene.pair().clone();
            Some(Gpu { cuda, setup: Setup::new(cuda, histograms, Some(fixed), Some(moving))? })
        }
        _ => None,
    };
    let context = Context::new(scene, gpu);
    let minutes = args.minutes.or(args.small.then_some(SMALL_MINUTES));
    let chosen = |paper: &str, item: &Item| {
        let named = |name: &str| args.only.iter().any(|only| only == name);
        args.only.is_empty() || named(paper) || item.section.as_deref().is_some_and(named)
    };
    let papers = report::collect(papers, chosen, |name| {
        let begun = Instant::now();
        if let Some(minutes) = minutes.filter(|minutes| start.elapsed().as_secs_f64() > 60.0 * minutes) {
            return Ok(Err(format!("{minutes} minutes had passed (--minutes)")));
        }
        let found = sections::measure(name, &context)?;
        output::note(format_args!("{name}: {:.1} s", begun.elapsed().as_secs_f64()));
        Ok::<Result<Vec<Shown>, String>, Error>(found.ok_or_else(|| "this needs an NVIDIA GPU".into()))
    })?;
    Ok(Report {
        commit: machine::commit(),
        date: machine::date(),
        cpu: machine::cpu(),
        gpu: machine::gpu(cuda.as_ref()),
        command: machine::command(),
        images,
        seconds: start.elapsed().as_secs_f64(),
        papers,
    })
}

/// The images that were given, or a synthetic brain.
fn images_of(args: &Args) -> Result<Scene, Error> {
    let mm = args.mm.unwrap_or(MM[usize::from(args.small)]);
    let (Some(fixed), Some(moving)) = (&args.image, &args.moving) else { return Ok(Scene::synthetic(mm)) };
    let volume = |path: &PathBuf| nifti::read_volume(path);
    let labels = match (&args.image_labels, &args.moving_labels) {
        (Some(fixed), Some(moving)) => Some([nifti::read_labels(fixed)?, nifti::read_labels(moving)?]),
        _ => None,
    };
    let labels: Option<[LabelVolume; 2]> = labels;
    let contrasts: Vec<Volume> = args.contrasts.iter().map(volume).collect::<Result<_, _>>()?;
    Ok(Scene::given([volume(fixed)?, volume(moving)?], labels, contrasts, mm))
}
