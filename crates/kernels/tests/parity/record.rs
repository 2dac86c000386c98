//! Counts of a check, which compares a device with the CPU, and the JSON record of the check, which `tests/checked.rs`
//! reads.

use std::time::{SystemTime, UNIX_EPOCH};

use antsreg_kernels::cuda::DeviceInfo;

/// Default path of the JSON record of a check: `cu/checked.json` in the tested crate.
pub fn default_file() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/cu/checked.json").into()
}

/// Summary of a check: properties of the device, number of results compared with the CPU, and number of differences.
pub struct Summary {
    device: String,
    capability: (u32, u32),
    driver: (u32, u32),
    compared: usize,
    values: usize,
    failed: usize,
}

impl Summary {
    /// Makes the summary of a device for which no results have been compared yet.
    pub fn new(info: &DeviceInfo) -> Summary {
        let DeviceInfo { name, capability, driver, .. } = info;
        let (device, capability, driver) = (name.clone(), *capability, *driver);
        Summary { device, capability, driver, compared: 0, values: 0, failed: 0 }
    }

    /// Counts one more compared result, which has `values` numbers. `differs` says whether the devices disagree on the
    /// result.
    pub fn add(&mut self, values: usize, differs: bool) {
        self.compared += 1;
        self.values += values;
        self.failed += usize::from(differs);
    }

    /// Whether any of the results differs between the devices.
    pub fn failed(&self) -> bool {
        self.failed > 0
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Summary { device, driver, compared, values, failed, .. } = self;
        write!(
            out,
            "{device}, CUDA {}.{}: {compared} results of {values} values, {failed} differ",
            driver.0, driver.1
        )
    }
}

/// The JSON record of a check on a device. `digest` is the SHA-256 digest of the checked kernels.
pub fn json(summary: &Summary, digest: &str) -> String {
    let Summary { device, capability, driver, compared, values, failed } = summary;
    let date = today();
    format!(
        "{{\n  \"code_sha256\": \"{digest}\",\n  \"device\": \"{device}\",\n  \"capability\": \"{}.{}\",\n  \
         \"driver_cuda\": \"{}.{}\",\n  \"date\": \"{date}\",\n  \"results_compared\": {compared},\n  \
         \"values_compared\": {values},\n  \"differ\": {failed}\n}}\n",
        capability.0, capability.1, driver.0, driver.1
    )
}

/// Today's date (UTC) as year-month-day, computed from the number of days since 1970.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
