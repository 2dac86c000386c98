//! Bandwidth of device memory.

use std::sync::Arc;

use super::buffer::Buffer;
use super::device::Device;
use super::driver::driver_error;
use super::profile::new_event;
use crate::Error;

/// Bandwidth of device memory: that of the fastest of a few copies between two buffers that are far larger than any
/// cache.
pub(super) fn copy_bandwidth(device: &Arc<Device>) -> Result<f64, Error> {
    const WORDS: usize = 1 << 27;
    let wrap = |error| driver_error("copy bandwidth", error);
    let (from, mut to) = (Buffer::<f32>::zeroed(device, WORDS)?, Buffer::<f32>::zeroed(device, WORDS)?);
    let mut fastest = f64::INFINITY;
    for _ in 0..8 {
        let (start, end) = (new_event()?, new_event()?);
        start.record(device.stream()).map_err(wrap)?;
        to.copy_from(&from)?;
        end.record(device.stream()).map_err(wrap)?;
        device.synchronize("copy bandwidth")?;
        fastest = fastest.min(f64::from(end.elapsed_time_f32(&start).map_err(wrap)?) / 1e3);
    }
    Ok((2 * WORDS * size_of::<f32>()) as f64 / fastest)
}
