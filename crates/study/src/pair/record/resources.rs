//! The time and the memory of a registration in its record.

use antsreg_register::{self as register, Registration};
use serde::{Deserialize, Serialize};

/// Memory of a GPU, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceMemory {
    /// Memory of the GPU that the registration was expected to take.
    pub planned_bytes: u64,
    /// Free memory of the GPU before the registration.
    pub free_bytes: u64,
    /// Largest memory of the GPU that the registration took: free memory before the registration less free memory after
    /// it. This difference is the peak, because the driver's memory pool keeps memory that the registration frees.
    pub taken_bytes: Option<u64>,
}

/// Wall times of the parts of a registration, seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Time of reading and checking the inputs, and of waiting for a GPU.
    pub read: f64,
    /// Time of preparing a GPU; files are read at the same time.
    pub device: Option<f64>,
    /// In a batch, time of what comes between reading and the stages: shading, brains, alignment of further images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparing: Option<f64>,
    /// Time of the linear stages.
    pub linear: Option<f64>,
    /// Time of the deformable stages.
    pub syn: Option<f64>,
    /// Time of warping images and labels, of compressing, and of writing.
    pub outputs: f64,
    /// Total time of the run until this record is written.
    pub total: f64,
}

impl Seconds {
    /// Adds the times of a registration to this record: the time of each stage to the linear or the deformable stages,
    /// and the time of warping images to the outputs.
    pub fn add(&mut self, found: &Registration) {
        let register::Seconds { stages, download, images } = &found.seconds;
        for (outcome, seconds) in found.outcomes.iter().zip(stages) {
            let part = match outcome {
                register::StageOutcome::Linear(_) => &mut self.linear,
                register::StageOutcome::Deformable(_) => &mut self.syn,
            };
            *part = Some(part.unwrap_or(0.0) + seconds);
        }
        if let Some(syn) = &mut self.syn {
            *syn += download;
        }
        self.outputs += images;
    }

    /// The sum of the times of reading and preparing the inputs, of the stages, and of writing the outputs.
    pub fn sum(&self) -> f64 {
        let between = [self.preparing, self.linear, self.syn];
        self.read + between.into_iter().flatten().sum::<f64>() + self.outputs
    }
}
