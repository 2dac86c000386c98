//! Several images of one person in one space that favours no image: the poses of the images in this space, its grid, and
//! the changes of volume between the images.
//!
//! A *time point* is an image of the person. Its *pose* maps points of the common space to points of the time point, RAS
//! mm. All sums run over the time points in the order in which they are given. So callers that give the time points in an
//! order that depends on the images alone get the same bits for any order of the files.

mod change;
mod fraction;
mod grid;
mod poses;

pub use change::{LabelChange, changes};
pub use fraction::fraction;
pub use grid::common_grid;
pub use poses::{PoseError, between, disagreement_mm, halfway, mean, part_of_way, recentred};
