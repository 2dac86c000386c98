//! Times of the GPU kernels of a registration, and their bandwidth as a share of the copy bandwidth.

use antsreg_register::Device;
use serde::Serialize;

use crate::Error;
use crate::observer::Observer;
#[cfg(feature = "cuda")]
use crate::observer::{Event, RunWarning};

/// Times of the GPU kernels of a registration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTimes {
    /// Copy bandwidth within the device's memory: bytes read and written per second; `None` if it could not be
    /// measured.
    pub copy_bytes_per_second: Option<f64>,
    /// Times of each GPU kernel, sorted by total time, the longest first.
    pub kernels: Vec<KernelRecord>,
}

/// Times of all launches of one GPU kernel in a registration, and the bytes of memory that they read and write.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRecord {
    /// Name of the GPU kernel.
    pub name: &'static str,
    /// Number of launches of the GPU kernel.
    pub launches: usize,
    /// Time of all launches of the GPU kernel together, seconds.
    pub seconds: f64,
    /// Median time of a launch of the GPU kernel, seconds.
    pub median_seconds: f64,
    /// Least number of bytes of GPU memory that all launches of the kernel together must read and write.
    pub bytes: u64,
    /// Bandwidth of the kernel (`bytes` by `seconds`) as a share of the device's copy bandwidth.
    pub share_of_copy_bandwidth: Option<f64>,
}

/// Starts timing the kernels of a GPU.
#[cfg(feature = "cuda")]
pub(super) fn start(device: &Device) {
    if let Some(cuda) = device.cuda() {
        cuda.start_profile();
    }
}

/// Tells the observer the times of the GPU kernels that ran since [`start`] was called, and returns these times; `None`
/// on the CPU.
#[cfg(feature = "cuda")]
pub(super) fn finish(device: &Device, observer: &mut dyn Observer) -> Result<Option<KernelTimes>, Error> {
    let Some(cuda) = device.cuda() else { return Ok(None) };
    let times = cuda.finish_profile().map_err(antsreg_register::Error::Device)?;
    // The copy bandwidth is measured after the registration, because the measurement needs memory. If memory is short,
    // only the measurement fails, not the registration.
    let bandwidth = match cuda.copy_bandwidth() {
        Ok(bandwidth) => Some(bandwidth),
        Err(error) => {
            observer.tell(&Event::Warning(&RunWarning::NoBandwidth(error.to_string())));
            None
        }
    };
    let times = KernelTimes::new(times, bandwidth);
    observer.tell(&Event::Kernels(&times));
    Ok(Some(times))
}

/// Does nothing: this build has no CUDA.
#[cfg(not(feature = "cuda"))]
pub(super) fn start(_: &Device) {}

/// `None`: this build has no CUDA.
#[cfg(not(feature = "cuda"))]
pub(super) fn finish(_: &Device, _: &mut dyn Observer) -> Result<Option<KernelTimes>, Error> {
    Ok(None)
}

#[cfg(feature = "cuda")]
impl KernelTimes {
    /// Sorts the times of kernels and computes the share of the copy bandwidth that each kernel reaches.
    pub fn new(mut times: Vec<antsreg_kernels::cuda::KernelTime>, copy_bytes_per_second: Option<f64>) -> KernelTimes {
        times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let kernels = times.into_iter().map(|time| KernelRecord {
            name: time.name,
            launches: time.launches,
            seconds: time.seconds,
            median_seconds: time.median,
            bytes: time.bytes,
            share_of_copy_bandwidth: copy_bytes_per_second
                .filter(|_| time.seconds > 0.0)
                .map(|bandwidth| time.bytes as f64 / time.seconds / bandwidth),
        });
        KernelTimes { copy_bytes_per_second, kernels: kernels.collect() }
    }
}
