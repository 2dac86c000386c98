//! The subcommand (verb) `overlap`: measures the agreement of two label maps.

use std::path::PathBuf;

use antsreg_console::{CliError, Console};
use antsreg_core::LabelVolume;
use antsreg_core::overlap::{CSV_HEADER, Overlap};

use crate::table;
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_study::inputs;

/// Overlap of two label maps: Jaccard, Dice and other measures for each label.
///
/// The numbers are those of ANTs' LabelOverlapMeasures. Volume similarity is 2(S−T)/(S+T), above 0 where SOURCE is
/// larger. Background (0) does not count.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Label map to be scored, on the grid of TARGET
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// True label map, with which SOURCE is compared
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Labels whose overlap is computed: a file of numbers, or 1,2,5 [default: all but 0]
    #[arg(long, value_name = "LIST", alias = "labels")]
    label_list: Option<String>,
    /// Also write the table as CSV, with the columns of LabelOverlapMeasures
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Runs `overlap`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    if let Some(csv) = &args.csv {
        let list = args.label_list.as_deref().and_then(inputs::label_list_file);
        outputs::check([csv], [args.source.as_path(), &args.target].into_iter().chain(list))?;
    }
    let target = inputs::labels(&args.target)?;
    let source = inputs::labels_of(&args.source, &args.target, &target.grid)?;
    let list = args.label_list.as_deref().map(|list| inputs::label_list_of(list, &args.target, &target));
    let list = list.transpose()?;
    let overlap = score(&source, &target, list.as_deref())?;
    let mut outputs = Outputs::new();
    if let Some(csv) = &args.csv {
        outputs.write(csv, |path| outputs::write_file(path, overlap.to_csv().as_bytes()))?;
    }
    // The table of overlap measures is printed before the CSV file appears, so that no file remains if printing fails.
    antsreg_console::output::print(&show(&overlap))?;
    outputs.commit()?;
    if let Some(csv) = &args.csv {
        console.note(format_args!("wrote {}", csv.display()));
    }
    Ok(())
}

/// Computes the overlap of `source` with `target`, over the labels in `list` or else all labels of both maps.
pub fn score(source: &LabelVolume, target: &LabelVolume, list: Option<&[i32]>) -> Result<Overlap, CliError> {
    Ok(Overlap::between(source, target, list)?)
}

/// Formats the overlap as a table for the terminal: a row for each label, a row for all labels together, and a row
/// for the mean over the labels.
pub fn show(overlap: &Overlap) -> String {
    let header = CSV_HEADER.split(',').map(String::from).collect();
    let row = |name: &str, measures: [f64; 6]| {
        let cells = measures.iter().map(|value| if value.is_finite() { format!("{value:.4}") } else { "-".into() });
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let mut rows = vec![header];
    rows.extend(overlap.labels.iter().map(|(label, counts)| row(&label.to_string(), counts.measures())));
    rows.push(row("All", overlap.all().measures()));
    rows.push(row("Mean", overlap.mean()));
    table::render(&rows)
}
