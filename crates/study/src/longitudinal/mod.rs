//! Images of one person at several times: a template that favours no time point, and the changes of volume.
//!
//! The steps of [`run`]: all pairs of time points are registered rigidly, in both directions; their poses in a common space
//! follow (`align`). Each time point is resampled there once, and registered to the mean of the *other* time points
//! (`deform`): the noise of an image must not be in both images of a registration, because their agreement would hold the
//! warp back. Of n time points, each warp goes n/(n − 1) of the way to the mean shape, so it is shortened; the mean of all
//! warps is subtracted. The Jacobian determinants of the warps give the volumes (`measure`).
//!
//! All computations run over the time points in the order of the digests of their images (`read`). So the order of the
//! arguments, and the names of the files, change no bit of the results.

mod align;
mod deform;
mod error;
mod measure;
mod names;
mod options;
mod persons;
mod read;
mod record;
mod run;
mod table;
mod time_point;

pub use error::Error;
pub use names::{Names, PointNames};
pub use options::{Brains, Options};
pub use record::Record;
pub use run::{Done, Plan, Request, plan, run};
pub use table::Row;
pub use time_point::{TimePoint, time_points};
