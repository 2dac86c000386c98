//! How subjects are registered, the same in every pass, and the memory that takes of a GPU.

use std::path::PathBuf;

use antsreg_linear as linear;
use antsreg_syn::{Channel, Metric};

use super::session::Session;
use crate::cohort::{Largest, largest_grid};
use crate::device::Description;
use crate::error::CliError;
use crate::register::{Plan, Start};

/// The parameters of both stages, whatever the device; the affine pass needs the first alone.
pub fn of(session: &Session) -> Result<Plan, CliError> {
    let args = &session.plan.args;
    let mut plan = Plan::new(&args.settings, session.grid()?.shape, Description::Cpu)?;
    if let Some(syn) = &mut plan.syn {
        let metric = syn.channels.first().map_or_else(Metric::default, |channel| channel.metric);
        let weight = |channel: usize| args.weights.get(channel).copied().unwrap_or(1.0);
        let channels = 0..session.plan.file.channels.len();
        syn.channels = channels.map(|channel| Channel { metric, weight: weight(channel) }).collect();
    }
    Ok(plan)
}

/// The start of the affine stage.
pub fn start(session: &Session) -> linear::Start {
    match session.plan.args.settings.initial_transform {
        Some(Start::Headers) => linear::Start::Headers,
        _ => linear::Start::CentreOfMass,
    }
}

/// Memory that a GPU must have for the steps, bytes. Registering takes more than all others.
pub fn needed_bytes(session: &Session) -> Result<u64, CliError> {
    let (plan, grid) = (of(session)?, session.grid()?);
    let subjects = session.included.iter().flat_map(|subject| &session.subject(*subject).images);
    let images: Vec<&PathBuf> = subjects.map(|file| &file.path).collect();
    let largest = Largest {
        fixed: vec![&grid; session.plan.file.channels.len()],
        moving: largest_grid(&images),
        masked: [false; 2],
        plan: &plan,
        images: None,
    };
    Ok(largest.bytes_on_device())
}
