//! Runs one registration and shows its progress and results.

use antsreg_console::{CliError, Console, UsageError, ending, output};
use antsreg_core::overlap::Overlap;
use antsreg_study::pair::{Request, plan};

use super::show;
use crate::shown::shown;

/// Runs the registration of two images, or only shows its plan (`dry_run`). Returns the overlap of the moving and the
/// fixed label map after registration, if both are given.
pub fn run(request: &Request, dry_run: bool, console: &mut Console) -> Result<Option<Overlap>, CliError> {
    UsageError::check_prefix(&request.files.prefix)?;
    let done = shown(console, |invocation, observer| {
        let plan = plan(request, observer)?;
        if dry_run {
            output::print(&show::plan(&plan, invocation.threads))?;
            plan.fitted.check_memory()?;
            return Ok(None);
        }
        Ok::<_, CliError>(Some(plan.run(invocation, observer)?))
    })?;
    let Some(done) = done else { return Ok(None) };
    output::print(&show::outcome(&done.written.record))?;
    let overlap = done.written.overlap.clone();
    let verdict = done.written.record.verdict.clone();
    ending::leave(done);
    console.judge("the registration", verdict.as_ref())?;
    Ok(overlap)
}
