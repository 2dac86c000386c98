//! The machine, the sources and the date of a run.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use antsreg_kernels::Cuda;

/// The commit of the repository in the working folder, with a mark if files differ from it; "unknown" without one.
pub fn commit() -> String {
    let told = Command::new("git").args(["describe", "--always", "--dirty", "--exclude=*"]).output();
    let told = told.ok().filter(|told| told.status.success());
    told.map_or_else(|| "unknown".into(), |told| String::from_utf8_lossy(&told.stdout).trim().to_owned())
}

/// The command line, without folders.
pub fn command() -> String {
    command_of(std::env::args().skip(1))
}

/// A command line with these words. Of a path, the last name is shown; the folder of the output is OUT.
fn command_of(words: impl Iterator<Item = String>) -> String {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut shown = vec!["antsreg-lab".to_owned()];
    for word in words {
        let is_output = shown.len() == 2 && !word.starts_with('-');
        shown.push(if is_output { "OUT".into() } else { word.split(',').map(name).collect::<Vec<_>>().join(",") });
    }
    shown.join(" ")
}

/// The processor and the number of threads.
pub fn cpu() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, name)| name.trim());
    format!("{}, {} threads", model.unwrap_or("unknown processor"), rayon::current_num_threads())
}

/// The GPU.
pub fn gpu(cuda: Option<&Cuda>) -> String {
    cuda.map_or_else(
        || "none".into(),
        |cuda| {
            let info = cuda.info();
            format!(
                "{}, {} multiprocessors, driver for CUDA {}.{}",
                info.name, info.multiprocessors, info.driver.0, info.driver.1
            )
        },
    )
}

/// Today's date, UTC.
pub fn date() -> String {
    date_of(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400))
}

/// The date of a day, counted from 1970-01-01.
fn date_of(mut day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_without_folders() {
        let words =
            ["papers", "/home/me/out", "--small", "--contrasts", "/data/t1.nii,/data/t2.nii"].map(String::from);
        let shown = command_of(words.into_iter());
        assert_eq!(shown, "antsreg-lab papers OUT --small --contrasts t1.nii,t2.nii");
    }

    #[test]
    fn days_have_their_dates() {
        for (day, date) in [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_786, "2026-11-29")] {
            assert_eq!(date_of(day), date);
        }
    }
}
