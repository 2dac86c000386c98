//! Main memory available to this process, so that work that does not fit is refused before it begins.

mod control_group;

use rustix::process::{Resource, getrlimit};

use crate::failpoint::{self, Operation};

/// Smallest request for memory that is checked, bytes. For smaller requests, the check would take longer than the work
/// on that memory.
const LEAST_CHECKED: u64 = 16 << 20;

/// Number of bytes that are kept free for buffers, stacks and the allocator.
const SPARE: u64 = 16 << 20;

/// Memory available to this process, and the kind of limit that determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Available {
    /// Available memory, bytes.
    pub bytes: u64,
    /// The kind of limit that leaves the least memory.
    pub bound: Bound,
}

/// Kinds of limits on a process's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// No limit but the machine's: its free main memory and swap space.
    Machine,
    /// The limit on the address space of the process (`ulimit -v`).
    AddressSpace,
    /// The limit on the data of the process (`ulimit -d`).
    Data,
    /// The memory limit of a Linux control group, which containers and batch systems set.
    ControlGroup,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Bound::Machine => "this machine has no more free memory",
            Bound::AddressSpace => "the address space of the process is limited (ulimit -v)",
            Bound::Data => "the data segment of the process is limited (ulimit -d)",
            Bound::ControlGroup => "the memory of the container or batch job is limited",
        })
    }
}

/// The error that more memory was requested than is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("needs {} of memory, {}", megabytes(*wanted), found(*available))]
pub struct Shortage {
    /// Bytes requested.
    pub wanted: u64,
    /// Available memory; `None` if the system refused the request without reporting how much is available.
    pub available: Option<Available>,
}

/// The memory available to this process: the smallest of the limits. `None` if the system does not report it.
pub fn available() -> Option<Available> {
    let status = read("/proc/self/status");
    let used = |name| status.as_deref().and_then(|text| field(text, name)).unwrap_or(0);
    let limit = |resource, name| getrlimit(resource).current.map(|limit| limit.saturating_sub(used(name)));
    let bounds = [
        (Bound::Machine, read("/proc/meminfo").as_deref().and_then(of_machine)),
        (Bound::AddressSpace, limit(Resource::As, "VmSize:")),
        (Bound::Data, limit(Resource::Data, "VmData:")),
        (Bound::ControlGroup, control_group::left("/proc/self/cgroup".as_ref(), "/sys/fs/cgroup".as_ref())),
    ];
    let known = bounds.into_iter().filter_map(|(bound, bytes)| Some(Available { bytes: bytes?, bound }));
    known.min_by_key(|available| available.bytes)
}

/// Checks that `wanted` bytes are available, before they are allocated.
///
/// # Errors
/// [`Shortage`], with requested and available bytes. Small requests are always accepted.
pub fn check(wanted: u64) -> Result<(), Shortage> {
    if failpoint::check(Operation::Allocate).is_err() {
        return Err(Shortage { wanted, available: None });
    }
    check_against(wanted, available)
}

/// Checks that a volume of this shape fits into the available memory, with `voxel_bytes` bytes for each voxel, before it is
/// allocated. Numbers of bytes that no integer holds do not fit.
///
/// # Errors
/// [`Shortage`], with requested and available bytes. Small volumes are always accepted.
pub fn check_volume(shape: [usize; 3], voxel_bytes: usize) -> Result<(), Shortage> {
    let wanted = shape.iter().fold(voxel_bytes as u64, |bytes, &count| bytes.saturating_mul(count as u64));
    check_against(wanted, available)
}

/// Checks that `wanted` bytes are available, as [`check`] does. `available` is called only for requests that are not
/// small.
fn check_against(wanted: u64, available: impl FnOnce() -> Option<Available>) -> Result<(), Shortage> {
    if wanted < LEAST_CHECKED {
        return Ok(());
    }
    match available() {
        Some(available) if available.bytes < wanted.saturating_add(SPARE) => {
            Err(Shortage { wanted, available: Some(available) })
        }
        _ => Ok(()),
    }
}

/// Allocates an empty vector with capacity for `count` values.
///
/// # Errors
/// [`Shortage`] if less memory is available.
pub fn room_for<T>(count: u64) -> Result<Vec<T>, Shortage> {
    let wanted = count.saturating_mul(size_of::<T>() as u64);
    check(wanted)?;
    let mut values = Vec::new();
    let reserved = usize::try_from(count).is_ok_and(|count| values.try_reserve_exact(count).is_ok());
    if reserved { Ok(values) } else { Err(Shortage { wanted, available: None }) }
}

/// Allocates a vector of zeros. The system clears its memory only when it is first used, so threads that fill the vector
/// share that work.
///
/// # Errors
/// [`Shortage`] if less memory is available.
pub fn zeros(count: u64) -> Result<Vec<f32>, Shortage> {
    let wanted = count.saturating_mul(size_of::<f32>() as u64);
    check(wanted)?;
    let zeroed = usize::try_from(count).ok().and_then(|count| bytemuck::try_zeroed_vec(count).ok());
    zeroed.ok_or(Shortage { wanted, available: None })
}

/// Free memory of the machine: the sum of `MemAvailable` and free swap in `/proc/meminfo`, bytes.
fn of_machine(text: &str) -> Option<u64> {
    Some(field(text, "MemAvailable:")? + field(text, "SwapFree:").unwrap_or(0))
}

/// Reads a number of kilobytes (1024 bytes) from the text of a file of `/proc` and returns bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Formats bytes as megabytes, rounded up, so that a request is never shown as smaller than it is.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

fn found(available: Option<Available>) -> String {
    match available {
        Some(Available { bytes, bound }) => format!("but only {} MB are available: {bound}", bytes / 1_000_000),
        None => "but the operating system refused to give this amount".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_how_much_there_is() {
        let available = available().expect("this test needs /proc");
        assert!(available.bytes > 1 << 20);
        assert_eq!(check(1 << 10), Ok(()));
        let wanted = u64::MAX / 2;
        let shortage = check(wanted).unwrap_err();
        assert_eq!(shortage.wanted, wanted);
        assert!(shortage.available.is_some());
    }

    #[test]
    fn a_request_fits_if_the_spare_memory_stays_free() {
        let wanted = 5 * LEAST_CHECKED;
        let left = |bytes| Some(Available { bytes, bound: Bound::Machine });
        assert_eq!(check_against(wanted, || left(wanted + SPARE)), Ok(()));
        let available = left(wanted + SPARE - 1);
        assert_eq!(check_against(wanted, || available), Err(Shortage { wanted, available }));
        // A system that does not say how much is available is no reason to refuse.
        assert_eq!(check_against(wanted, || None), Ok(()));
    }

    #[test]
    fn small_requests_are_not_checked() {
        assert_eq!(check_against(LEAST_CHECKED - 1, || panic!("checked")), Ok(()));
        let available = Some(Available { bytes: 0, bound: Bound::Machine });
        let refused = Shortage { wanted: LEAST_CHECKED, available };
        assert_eq!(check_against(LEAST_CHECKED, || available), Err(refused));
    }

    #[test]
    fn a_volume_of_any_shape_fits_or_is_refused() {
        assert_eq!(check_volume([100, 100, 10], 4), Ok(()));
        assert_eq!(check_volume([1 << 20; 3], 4).unwrap_err().wanted, 1 << 62);
        assert_eq!(check_volume([usize::MAX; 3], 12).unwrap_err().wanted, u64::MAX);
    }

    #[test]
    fn room_is_exact_or_refused() {
        assert!(room_for::<f32>(1000).unwrap().capacity() >= 1000);
        assert!(room_for::<f32>(1 << 50).is_err());
        assert!(room_for::<f64>(u64::MAX).is_err());
    }

    #[test]
    fn fields_are_kilobytes() {
        let text = "MemTotal:  2000 kB\nMemAvailable:    1000 kB\nSwapFree:  24 kB\n";
        assert_eq!(of_machine(text), Some(1024 * 1024));
        assert_eq!(field(text, "Missing:"), None);
    }

    #[test]
    fn a_shortage_says_both_figures() {
        let available = Some(Available { bytes: 999_999, bound: Bound::AddressSpace });
        let text = Shortage { wanted: 2_000_000_001, available }.to_string();
        let reason = "0 MB are available: the address space of the process is limited (ulimit -v)";
        assert_eq!(text, format!("needs 2001 MB of memory, but only {reason}"));
        let text = Shortage { wanted: 5, available: None }.to_string();
        assert_eq!(text, "needs 1 MB of memory, but the operating system refused to give this amount");
    }
}
