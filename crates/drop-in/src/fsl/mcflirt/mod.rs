//! The command `mcflirt`: motion correction of a time series.

mod outputs;
mod request;

use antsreg_console::{CliError, Refusal, output::print};
use antsreg_study::motion::{MotionFiles, Options, Task};

use self::request::Request;
use crate::call::Call;
use crate::engine;

const USAGE: &str = "\
mcflirt -in SERIES [-out SERIES] [-refvol N | -reffile IMAGE | -meanvol] [-dof 6|7|9|12] [-cost normcorr|leastsquares|corratio|normmi]
        [-mats] [-plots] [-rmsabs] [-rmsrel] [-stats] [-spline_final | -nn_final | -sinc_final] …

Served by antsreg-gpu: its motion correction replaces MCFLIRT's.
";

/// Runs `mcflirt`.
///
/// # Errors
/// An argument that is wrong or not supported; files that cannot be read or written; a volume that cannot be aligned.
pub fn run(call: &Call) -> Result<(), CliError> {
    if call.arguments.is_empty() || call.arguments.iter().any(|word| word == "-help" || word == "-h") {
        return print(USAGE);
    }
    let request = Request::read(&call.arguments)?;
    let names = outputs::names(&request)?;
    let task = Task {
        files: MotionFiles {
            input: request.input.clone(),
            reference: request.reference.clone(),
            names,
            in_place: true,
        },
        options: Options { dof: request.dof, cost: request.cost, ..Options::default() },
        reading: request.reading,
        keep_going: false,
        command_line: Vec::new(),
    };
    let mut found = engine::correct_motion(call, &mut call.console(request.verbose)?, &task)?;
    outputs::write_tables(&request, &mut found)?;
    let device = found.motion.device.clone();
    found.commit()?;
    call.tell(&device, &request.replaced);
    Ok(())
}

/// Parses the arguments of `mcflirt` without running the command.
///
/// # Errors
/// An argument that is wrong or not supported.
pub fn read(words: &[String]) -> Result<(), Refusal> {
    Request::read(words).map(drop)
}
