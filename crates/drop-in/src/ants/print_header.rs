//! The command `PrintHeader`: prints the grid of an image in ITK's coordinates.

use std::path::Path;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::GridRule;
use nalgebra::{Matrix3, Vector3};

use super::words::positional;
use crate::call::Call;

const USAGE: &str = "\
PrintHeader IMAGE [WHAT]

Served by antsreg-gpu. WHAT: 0 origin, 1 spacing, 2 size, 3 index, 4 direction; without it all of them.
";

/// Runs `PrintHeader`.
///
/// # Errors
/// An argument that is wrong or not supported; a file that cannot be read.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some([path, what @ ..]) = positional(&call.arguments, 1..=2, USAGE)? else { return Ok(()) };
    let header = GridRule::Itk.inspect(Path::new(path))?;
    let grid = &header.grid;
    // The third axis of a two-dimensional file is not printed.
    let axes = if grid.is_slice() && header.dim[0] == 2 { 2 } else { 3 };
    let flip = Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0));
    let (origin, direction) = (flip * grid.origin.coords, flip * grid.direction);
    let join = |numbers: Vec<f64>, between: &str| {
        // Adding 0 turns the number −0 into 0.
        numbers.iter().map(|number| (number + 0.0).to_string()).collect::<Vec<_>>().join(between)
    };
    let of = |vector: &Vector3<f64>| vector.iter().copied().take(axes).collect::<Vec<f64>>();
    let size: Vec<f64> = grid.shape.iter().take(axes).map(|&size| size as f64).collect();
    let rows: Vec<f64> =
        (0..axes).flat_map(|row| (0..axes).map(move |axis| (row, axis))).map(|place| direction[place]).collect();
    let text = match what.first().map(String::as_str) {
        Some("0") => join(of(&origin), "x"),
        Some("1") => join(of(&grid.spacing), "x"),
        Some("2") => join(size, "x"),
        Some("3") => join(vec![0.0; axes], "x"),
        Some("4") => join(rows, "x"),
        Some(other) => return Err(Refusal::new(format!("WHAT {other}"), "expected 0 to 4").into()),
        None => {
            let rows = rows.chunks(axes).map(|row| format!("  {}", join(row.to_vec(), " "))).collect::<Vec<_>>();
            format!(
                " Spacing [{}]\n Origin [{}]\n Size [{}]\n Direction\n{}",
                join(of(&grid.spacing), ", "),
                join(of(&origin), ", "),
                join(size, ", "),
                rows.join("\n")
            )
        }
    };
    print(&format!("{text}\n"))
}
