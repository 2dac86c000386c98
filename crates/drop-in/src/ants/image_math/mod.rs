//! The command `ImageMath`: operations on images.
//!
//! An operation is parsed to a [`Plan`] before any file is read, so that what is not supported is refused before anything
//! is written.

mod change;
mod combine;
mod operations;
mod plan;
mod series;

use std::path::Path;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_core::io::nifti::Stored;
use antsreg_core::io::outputs::{self, Outputs};
use antsreg_register::Description;

use super::files::{self, Image};
use super::words::positional;
use crate::call::Call;
use crate::served::{self, Operation};
use plan::{Made, Parser, Plan, Words};

pub use operations::OPERATIONS;

/// The functions that parse the arguments of the operations.
const PARSERS: &[&[(&str, Parser)]] = &[combine::PARSERS, change::PARSERS, series::PARSERS];

fn usage() -> String {
    let line = |operation: &Operation| format!("  {} {}\n", operation.name, operation.usage);
    let lines: String = OPERATIONS.iter().map(line).collect();
    format!("ImageMath DIMENSION OUTPUT OPERATION ARGUMENTS\n\nServed by antsreg-gpu, these operations:\n{lines}")
}

/// Runs `ImageMath`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written.
pub fn run(call: &Call) -> Result<(), CliError> {
    let Some(words) = positional(&call.arguments, 3..=usize::MAX, &usage())? else { return Ok(()) };
    let (output, dimensions, plan) = parse(words)?;
    // Outputs with names of up to three characters, such as 0, are not written, as in ANTs.
    let written = output.as_os_str().len() > 3;
    match (written, plan.writes_text) {
        (true, false) => files::check_output(output)?,
        (true, true) => outputs::check_in_place([output])?,
        (false, _) => {}
    }
    let images = plan
        .inputs
        .iter()
        .map(|path| Image::read_by(path, dimensions, plan.keeps_missing))
        .collect::<Result<Vec<_>, _>>()?;
    if plan.same_shape
        && let Some((first, others)) = images.split_first()
    {
        others.iter().zip(&plan.inputs[1..]).try_for_each(|(other, path)| first.check_shape(path, other))?;
    }
    let write = |image: &Image, stored| if written { image.write(output, stored) } else { Ok(()) };
    match (plan.work)(images)? {
        Made::Image(image) => write(&image, Stored::Float32)?,
        Made::Whole(image, stored) => write(&image, stored)?,
        Made::Printed(image, text) => {
            if let Some(image) = image {
                write(&image, Stored::Float32)?;
            }
            print(&text)?;
        }
        Made::Several(images) => {
            let mut set = Outputs::new();
            for (path, image) in &images {
                set.write(path, |path| image.write(path, Stored::Float32))?;
            }
            set.commit()?;
        }
        Made::Text(text) => outputs::write_file(output, text.as_bytes())?,
    }
    call.tell(&Description::Cpu, &[]);
    Ok(())
}

fn parse(words: &[String]) -> Result<(&Path, u8, Plan), Refusal> {
    let [dimensions, output, operation, rest @ ..] = words else {
        return Err(Refusal::new("arguments", "expected DIMENSION OUTPUT OPERATION INPUT"));
    };
    let dimensions = files::dimensions(dimensions)?;
    served::operation(OPERATIONS, operation)?;
    let known = PARSERS.iter().flat_map(|part| part.iter()).find(|(name, _)| name == operation);
    let (_, parser) = known.ok_or_else(|| Refusal::not_served(operation, "use another operation"))?;
    let output = Path::new(output);
    let plan = parser(&Words { operation, output, dimensions, rest })?;
    Ok((output, dimensions, plan))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_operation_of_the_table_has_a_parser() {
        let parsed: BTreeSet<&str> = PARSERS.iter().flat_map(|part| part.iter()).map(|(name, _)| *name).collect();
        assert_eq!(OPERATIONS.iter().map(|operation| operation.name).collect::<BTreeSet<_>>(), parsed);
    }
}
