//! One registration from files to files: reads the inputs, registers the images and writes the results.

mod brains;
mod compute;
mod files;
mod head;
mod inputs;
mod kernel_times;
mod overlap;
mod page;
mod record;
mod run;
mod shading;
mod volumes;
mod white;
mod write;

pub use compute::Ahead;
pub(crate) use compute::fetch;
pub use files::{ChannelFiles, Format, Labels, Names, PairFiles, StartFile, Writing};
pub use head::{CarriedRecord, HeadRecord};
pub use inputs::{FixedInputs, Inputs};
pub(crate) use inputs::{check_in_plane, name_files};
pub use kernel_times::{KernelRecord, KernelTimes};
pub use record::{
    DeviceMemory, ImageRecord, InputsRecord, JacobianRecord, LesionRecord, LinearLevel, LinearRecord, OverlapRecord,
    Parameters, Record, Seconds, SynLevel, SynRecord,
};
pub use run::{Done, Plan, Request, plan, run};
pub use volumes::{Masks, Named, SideVolumes};
pub use white::WhiteMatterRecord;
pub use write::{Context, Further, Written, record, write, write_report, write_with};
