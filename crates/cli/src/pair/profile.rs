//! The option `--profile`: measures the time of each GPU kernel, and its bandwidth as a share of the copy bandwidth.

use antsreg_console::{CliError, Console};
use antsreg_kernels::cuda::KernelTime;
use antsreg_register::Device;
use serde::Serialize;

use crate::table;

/// Times of the GPU kernels of a registration.
#[derive(Debug, Serialize)]
pub struct Profile {
    /// Copy bandwidth within the device's memory: bytes read and written per second; `None` if it could not be
    /// measured.
    pub copy_bytes_per_second: Option<f64>,
    /// Times of each GPU kernel, sorted by total time, the longest first.
    pub kernels: Vec<KernelRecord>,
}

/// Times of all launches of one GPU kernel in a registration, and the bytes of memory that they read and write.
#[derive(Debug, Serialize)]
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

impl Profile {
    /// Starts timing the kernels of a GPU.
    pub fn start(device: &Device) {
        if let Some(cuda) = device.cuda() {
            cuda.start_profile();
        }
    }

    /// Prints and returns the times of the GPU kernels that ran since [`Profile::start`] was called; `None` on the CPU.
    pub fn finish(device: &Device, console: &mut Console) -> Result<Option<Profile>, CliError> {
        let Some(cuda) = device.cuda() else { return Ok(None) };
        let times = cuda.finish_profile().map_err(antsreg_register::Error::Device)?;
        // The copy bandwidth is measured after the registration, because the measurement needs memory. If memory is
        // short, only the measurement fails, not the registration.
        let bandwidth = match cuda.copy_bandwidth() {
            Ok(bandwidth) => Some(bandwidth),
            Err(error) => {
                console.warn(format_args!("the copy bandwidth of the device could not be measured: {error}"));
                None
            }
        };
        let profile = Profile::new(times, bandwidth);
        console.note(profile.show());
        Ok(Some(profile))
    }

    fn new(mut times: Vec<KernelTime>, copy_bytes_per_second: Option<f64>) -> Profile {
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
        Profile { copy_bytes_per_second, kernels: kernels.collect() }
    }

    /// Formats the times of the GPU kernels as a table, without a line end after the last row.
    fn show(&self) -> String {
        let header = ["Kernel", "Launches", "Total, ms", "Median, µs", "GB", "GB/s", "Of copying"];
        let mut rows = vec![header.map(String::from).to_vec()];
        for kernel in &self.kernels {
            let gigabytes = kernel.bytes as f64 / 1e9;
            rows.push(vec![
                kernel.name.to_owned(),
                kernel.launches.to_string(),
                format!("{:.3}", 1e3 * kernel.seconds),
                format!("{:.1}", 1e6 * kernel.median_seconds),
                format!("{gigabytes:.3}"),
                format!("{:.0}", if kernel.seconds > 0.0 { gigabytes / kernel.seconds } else { 0.0 }),
                kernel.share_of_copy_bandwidth.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share)),
            ]);
        }
        let launches: usize = self.kernels.iter().map(|kernel| kernel.launches).sum();
        let seconds: f64 = self.kernels.iter().map(|kernel| kernel.seconds).sum();
        let bytes: u64 = self.kernels.iter().map(|kernel| kernel.bytes).sum();
        let total = ["All".into(), launches.to_string(), format!("{:.3}", 1e3 * seconds), String::new()];
        rows.push([&total[..], &[format!("{:.3}", bytes as f64 / 1e9)]].concat());
        let copying = self.copy_bytes_per_second.map(|bandwidth| format!("Copying: {:.0} GB/s", bandwidth / 1e9));
        table::render(&rows) + &copying.unwrap_or_else(|| "Copying: not measured".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_longest_first_and_the_sum() {
        let time = |name, launches, seconds, bytes| KernelTime {
            name,
            launches,
            seconds,
            fastest: seconds / launches as f64,
            median: seconds / launches as f64,
            bytes,
        };
        let times = || vec![time("advance", 4, 0.001, 2_000_000_000), time("invert", 10, 0.02, 20_000_000_000)];
        let profile = Profile::new(times(), Some(4e12));
        let expected = "\
Kernel   Launches  Total, ms  Median, µs      GB  GB/s  Of copying
invert         10     20.000      2000.0  20.000  1000        25 %
advance         4      1.000       250.0   2.000  2000        50 %
All            14     21.000              22.000
Copying: 4000 GB/s";
        assert_eq!(profile.show(), expected);
        let profile = Profile::new(times(), None);
        assert!(profile.kernels.iter().all(|kernel| kernel.share_of_copy_bandwidth.is_none()));
        assert!(profile.show().ends_with("Copying: not measured"));
    }
}
