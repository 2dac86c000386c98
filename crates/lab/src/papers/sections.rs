//! The measurements by name.

use super::context::Context;
use super::shown::Shown;
use super::{brosch, li, luo, shams, sun};
use crate::error::Error;

/// Names of all measurements.
pub const NAMES: &[&str] = &[
    "scene",
    "li-blocks",
    "li-threads",
    "li-bins",
    "li-schemes",
    "li-settings",
    "li-application",
    "li-speedup",
    "li-rms",
    "li-shares",
    "li-segment",
    "li-sorting",
    "li-weighting",
    "li-accuracy",
    "luo-flirt",
    "luo-syn",
    "luo-overlap",
    "luo-mad",
    "shams-transform",
    "shams-bins",
    "shams-speed",
    "shams-tre",
    "brosch-bins",
    "brosch-steps",
    "sun-interpolation",
    "sun-partial-volume",
    "sun-interpolation-pd",
    "sun-partial-volume-pd",
    "sun-3d",
    "sun-speedup",
];

/// Runs a measurement. `None`: it needs a GPU, and there is none.
pub fn measure(name: &str, context: &Context<'_>) -> Result<Option<Vec<Shown>>, Error> {
    match name {
        "scene" => Ok(Some(li::scene(context))),
        "li-blocks" => li::blocks(context),
        "li-threads" => li::threads(context),
        "li-bins" => li::bins(context),
        "li-schemes" => li::schemes(context),
        "li-settings" => li::settings_table(context),
        "li-application" => li::application(context),
        "li-speedup" => li::speedup(context),
        "li-rms" => li::rms(context).map(Some),
        "li-shares" => Ok(Some(li::shares(context))),
        "li-segment" => li::segment(context),
        "li-sorting" => li::sorting(context).map(Some),
        "li-weighting" => li::weighting(context),
        "li-accuracy" => li::accuracy(context),
        "luo-flirt" => luo::flirt(context).map(Some),
        "luo-syn" => luo::syn(context).map(Some),
        "luo-overlap" => luo::overlap(context).map(Some),
        "luo-mad" => luo::mad(context).map(Some),
        "shams-transform" => shams::transform(context).map(Some),
        "shams-bins" => shams::bins(context),
        "shams-speed" => shams::speed(context).map(Some),
        "shams-tre" => shams::tre(context).map(Some),
        "brosch-bins" => brosch::bins(context),
        "brosch-steps" => brosch::steps(context),
        "sun-interpolation" => sun::slices(context, "T2", sun::TRILINEAR).map(Some),
        "sun-partial-volume" => sun::slices(context, "T2", sun::PARTIAL).map(Some),
        "sun-interpolation-pd" => sun::slices(context, "PD", sun::TRILINEAR).map(Some),
        "sun-partial-volume-pd" => sun::slices(context, "PD", sun::PARTIAL).map(Some),
        "sun-3d" => sun::volumes(context).map(Some),
        "sun-speedup" => sun::speedup(context).map(Some),
        _ => Err(Error::NotMeasured),
    }
}
