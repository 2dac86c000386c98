//! Runs `longitudinal` and shows its results.

use antsreg_console::{CliError, Console, ending, output};
use antsreg_study::geometry;
use antsreg_study::longitudinal::{self, Plan, Request, Row};

use super::args::Args;
use crate::shown::shown;

/// Runs `longitudinal`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let request = args.request()?;
    if args.dry_run {
        let plan = shown(console, |_, observer| longitudinal::plan(&request, observer))?;
        return output::print(&planned(&request, &plan));
    }
    antsreg_console::interruption::resumable();
    let done = shown(console, |invocation, observer| longitudinal::run(&request, invocation, observer))?;
    output::print(&results(&done.record.volumes))?;
    let verdict = done.record.verdict.clone();
    ending::leave(done);
    console.judge("the alignment of the time points", verdict.as_ref())
}

/// The plan in words.
fn planned(request: &Request, plan: &Plan) -> String {
    let mut text = String::new();
    for (point, grid) in request.points.iter().zip(plan.grids()) {
        let date = point.date.as_deref().unwrap_or("no date");
        text += &format!("{} ({date}): {}, {}\n", point.name, point.image.display(), geometry::describe(grid));
    }
    plan.names.all().iter().for_each(|path| text += &format!("would write {}\n", path.display()));
    text
}

/// Largest number of rows that are printed; the table has all.
const MOST_ROWS: usize = 20;

/// The changes since the first time point as text.
fn results(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let mut text = String::new();
    let changed: Vec<&Row> = rows.iter().filter(|row| row.time_point != first.time_point).collect();
    for row in changed.iter().take(MOST_ROWS) {
        let per_year =
            row.change_percent_per_year.map_or(String::new(), |percent| format!(", {percent:+.3} % per year"));
        let label = if row.label == "brain" { "brain".to_owned() } else { format!("label {}", row.label) };
        let cm3 = row.volume_mm3 / 1000.0;
        text += &format!("{}, {label}: {cm3:.2} cm³, {:+.3} %{per_year}\n", row.time_point, row.change_percent);
    }
    if changed.len() > MOST_ROWS {
        text += &format!("{} more rows are in volumes.csv\n", changed.len() - MOST_ROWS);
    }
    text
}
