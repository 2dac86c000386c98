//! Wall-clock times.

use std::time::Instant;

use crate::error::Error;

/// The median wall-clock time of a call, s. The first call is not counted: it loads kernels and takes memory. Long calls
/// are repeated less often.
pub fn median_seconds(mut call: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let first = seconds(&mut call)?;
    let rounds = match first {
        s if s < 0.1 => 9,
        s if s < 1.0 => 3,
        _ => 1,
    };
    let mut all = (0..rounds).map(|_| seconds(&mut call)).collect::<Result<Vec<f64>, Error>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[all.len() / 2])
}

/// Wall-clock time of a call, s.
pub fn seconds(call: &mut impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let start = Instant::now();
    call()?;
    Ok(start.elapsed().as_secs_f64())
}
