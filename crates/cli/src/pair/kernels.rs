//! Formats the times of GPU kernels, which the option `--profile` measures.

use antsreg_study::pair::KernelTimes;

use crate::table;

/// Formats the times of the GPU kernels as a table, without a line end after the last row.
pub fn kernels(times: &KernelTimes) -> String {
    let header = ["Kernel", "Launches", "Total, ms", "Median, µs", "GB", "GB/s", "Of copying"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for kernel in &times.kernels {
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
    let launches: usize = times.kernels.iter().map(|kernel| kernel.launches).sum();
    let seconds: f64 = times.kernels.iter().map(|kernel| kernel.seconds).sum();
    let bytes: u64 = times.kernels.iter().map(|kernel| kernel.bytes).sum();
    let total = ["All".into(), launches.to_string(), format!("{:.3}", 1e3 * seconds), String::new()];
    rows.push([&total[..], &[format!("{:.3}", bytes as f64 / 1e9)]].concat());
    let copying = times.copy_bytes_per_second.map(|bandwidth| format!("Copying: {:.0} GB/s", bandwidth / 1e9));
    table::render(&rows) + &copying.unwrap_or_else(|| "Copying: not measured".into())
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use antsreg_kernels::cuda::KernelTime;

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
        let profile = KernelTimes::new(times(), Some(4e12));
        let expected = "\
Kernel   Launches  Total, ms  Median, µs      GB  GB/s  Of copying
invert         10     20.000      2000.0  20.000  1000        25 %
advance         4      1.000       250.0   2.000  2000        50 %
All            14     21.000              22.000
Copying: 4000 GB/s";
        assert_eq!(kernels(&profile), expected);
        let profile = KernelTimes::new(times(), None);
        assert!(profile.kernels.iter().all(|kernel| kernel.share_of_copy_bandwidth.is_none()));
        assert!(kernels(&profile).ends_with("Copying: not measured"));
    }
}
