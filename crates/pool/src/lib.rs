//! Many jobs on the workers of many devices.
//!
//! [`run`] takes jobs through three stages at once: reading, computing and writing. The workers that compute may be on
//! several devices ([`Workers`]); [`MemoryBudget`] shares the memory of a device among them. [`WriteQueue`] writes files in
//! the background while the next jobs are computed. A thread that cannot be started is an error ([`Error`]).

mod background;
mod device_workers;
mod devices;
mod dispatch;
mod error;
mod memory;
mod pipeline;
mod spawn;
mod target;
mod worker;
mod write_queue;

pub use background::BackgroundThreads;
pub use device_workers::DeviceWorkers;
pub use devices::{Devices, GpuUse, Opening, Ready, USUAL_WORKERS, UnknownDevices, open, open_alone, open_by};
pub use error::Error;
pub use memory::{MemoryBudget, MemoryShare};
pub use pipeline::{Late, MOST_WORKERS, StageThreads, Workers, run};
pub use spawn::in_background;
pub use target::Target;
pub use worker::{DeviceBytes, Worker};
pub use write_queue::{Pause, WriteQueue};
