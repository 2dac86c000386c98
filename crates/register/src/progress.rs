//! The outcome of a stage, and observers of running registrations.

use antsreg_core::report::Observer;
use antsreg_linear as linear;
use antsreg_syn as syn;
use serde::{Deserialize, Serialize};

/// The outcome of one stage of a registration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a list of stage outcomes is short: it wastes little memory that one kind of outcome is larger"
)]
pub enum StageOutcome {
    /// The outcome of a linear stage: its transform, and the cost at the end of each level.
    Linear(linear::Outcome),
    /// The outcome of a deformable stage: the energies of each level.
    Deformable(Vec<syn::LevelOutcome>),
}

/// Observer of a registration: called in every iteration and after every stage.
pub trait Progress: Observer {
    /// Called after each stage of the registration; `stage` is the index of the stage, counted from 0.
    fn stage_ended(&mut self, _stage: usize, _outcome: &StageOutcome, _seconds: f64) {}
}

/// An observer that does nothing.
impl Progress for () {}
