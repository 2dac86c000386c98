//! An unbiased template of many subjects, built on one machine or step by step.
//!
//! Every pass registers all subjects to the current template, averages them, and moves the average to the mean of
//! their shapes, as in ANTs' multivariate template construction. [`Prepared`] reads the subjects of a [`Request`] and
//! makes the [`Plan`]; [`Building`] runs the remaining steps of all passes. A [`Session`] runs single steps of a
//! planned template.
//!
//! The words of this module:
//! - A *pass* registers all subjects to the template of the pass before, averages them (`average`), and moves the
//!   average to their mean shape (`update`). Pass 0, the affine pass, has no deformable stage.
//! - A *step* is a function from files to files: the start, one registration, the average or the update of a pass, the
//!   end (`finish`). `build` runs all steps, `one_step` a single one. `layout` has the paths of all files.
//! - The *plan* (`atlas.json`) holds subjects, options and number of passes, with a *fingerprint*: digests of all data
//!   on which the results depend.
//! - A *manifest* lists the files that a step read and wrote, each with its *record* (path, length, SHA-256 digest), and
//!   the results. With it, a stopped run is continued.
//! - A *contribution* is what a subject adds to an average: its transforms and its images on the template's grid.
//! - The *stretch* of an average is the mean of the affine transforms without rotations and shifts.
//! - The *shape update* is the displacement by which a pass moves its average to the mean shape.

mod average;
mod brains;
mod build;
mod channels;
mod compared;
mod content;
mod contribution;
mod digest;
mod error;
mod final_average;
mod final_pass;
mod final_subject;
mod finish;
mod folder;
mod layout;
mod manifest;
mod means;
mod one_step;
mod onto_final;
mod options;
mod pass;
mod pictures;
mod plan;
mod planning;
mod progress;
mod reference;
mod register_one;
mod registrations;
mod report;
mod request;
mod resampled;
mod results;
mod session;
mod start;
mod step;
mod update;
mod verified;
mod verify;

pub use antsreg_cohort::template::Averaging;
pub use build::{Building, Prepared, Run};
pub use digest::FileRecord;
pub use error::{Differences, Error};
pub use one_step::Outcome;
pub use options::TemplateOptions;
pub use plan::{Plan, PlannedSubject, StartFrom};
pub use progress::{Registered, TemplateProgress};
pub use registrations::suitable_devices;
pub use request::{Request, StartImage};
pub use results::{AverageResults, FinishResults, RegistrationResults, TemplateResults};
pub use session::Session;
pub use step::Step;
pub use verify::verify;
