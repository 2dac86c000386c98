//! An unbiased template of many subjects, built on one machine or step by step.
//!
//! Every pass registers all subjects to the current template, averages them, and moves the average to the mean of
//! their shapes, as in ANTs' multivariate template construction. [`Prepared`] reads the subjects of a [`Request`] and
//! makes the [`Plan`]; [`Building`] runs the remaining steps of all passes. A [`Session`] runs single steps of a
//! planned template.
//!
//! `plan` defines the steps and `layout` the paths of all files. Every step writes a manifest of the files it read
//! and wrote (`manifest`), so that a stopped run can be continued. The steps are functions from files to files
//! (`register_one`, `average`, `update`, `finish`); `build` runs all of them, `one_step` a single one.

mod average;
mod brains;
mod build;
mod chart;
mod content;
mod contribution;
mod digest;
mod error;
mod final_subject;
mod finish;
mod folder;
mod labels;
mod last;
mod layout;
mod manifest;
mod means;
mod one_step;
mod onto_final;
mod options;
mod outliers;
mod pass;
mod pictures;
mod plan;
mod progress;
mod reference;
mod register_one;
mod registrations;
mod report;
mod request;
mod resampled;
mod session;
mod start;
mod step;
mod sums;
mod update;
mod verified;
mod verify;

pub use antsreg_cohort::template::Averaging;
pub use average::AverageResults;
pub use build::{Building, Prepared, Run};
pub use digest::FileRecord;
pub use error::Error;
pub use finish::FinishResults;
pub use one_step::Outcome;
pub use options::TemplateOptions;
pub use plan::{Plan, PlannedSubject, StartFrom};
pub use progress::{Registered, TemplateProgress};
pub use register_one::RegistrationResults;
pub use registrations::suitable_devices;
pub use request::{Request, StartImage};
pub use session::Session;
pub use step::Step;
pub use update::TemplateResults;
pub use verify::verify;
