//! Environment variables with which the CUDA driver starts faster. The driver reads them when it starts, at the first
//! [`Cuda::open`](super::Cuda::open) or [`Cuda::devices`](super::Cuda::devices).

/// Lists the devices that the driver shows to the program, as numbers separated by commas.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";
/// Number of queues through which the streams of a process send work to a device; 8 unless the variable is set.
const MAX_CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// The variables to set, with their values, for a program that uses at most the first `devices` devices, and if
/// `one_stream` is true, only one stream of one of them. `now` returns the current value of a variable. A number of
/// queues that the user has set stays.
///
/// The driver takes 0.1 s longer to start for each visible device, and 0.01 s for each queue. A program may set the
/// variables before it starts a thread. A library must not: the environment belongs to the whole process.
pub fn quick_start(
    devices: usize,
    one_stream: bool,
    now: impl Fn(&str) -> Option<String>,
) -> Vec<(&'static str, String)> {
    let visible = first_visible(now(VISIBLE_DEVICES).as_deref(), devices).map(|list| (VISIBLE_DEVICES, list));
    let queue = (one_stream && now(MAX_CONNECTIONS).is_none()).then(|| (MAX_CONNECTIONS, "1".into()));
    visible.into_iter().chain(queue).collect()
}

/// The value of [`VISIBLE_DEVICES`] that keeps only the first `count` devices of its current value `now`. `None` if
/// `count` is larger than the number of devices of any machine.
fn first_visible(now: Option<&str>, count: usize) -> Option<String> {
    /// A number that is larger than the number of devices of any machine.
    const MOST: usize = 64;
    if count > MOST {
        return None;
    }
    let first = |numbers: &mut dyn Iterator<Item = String>| numbers.take(count).collect::<Vec<_>>().join(",");
    Some(match now {
        Some(now) => first(&mut now.split(',').map(str::to_owned)),
        None => first(&mut (0..count).map(|number| number.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_devices_are_those_that_are_visible_now() {
        assert_eq!(first_visible(None, 3).as_deref(), Some("0,1,2"));
        assert_eq!(first_visible(Some("5,2,0"), 2).as_deref(), Some("5,2"));
        assert_eq!(first_visible(Some("7"), 4).as_deref(), Some("7"));
        assert_eq!(first_visible(Some("-1"), 1).as_deref(), Some("-1"), "none stays none");
        assert_eq!(first_visible(Some(""), 1).as_deref(), Some(""), "none stays none");
        assert_eq!(first_visible(None, 10_000), None);
    }

    #[test]
    fn one_stream_needs_one_queue_unless_the_user_says_otherwise() {
        let variables = |one_stream, now: Option<&str>| {
            quick_start(1, one_stream, |name| now.filter(|_| name == MAX_CONNECTIONS).map(str::to_owned))
        };
        let [device, queue] = [(VISIBLE_DEVICES, "0".to_owned()), (MAX_CONNECTIONS, "1".to_owned())];
        assert_eq!(variables(true, None), [device.clone(), queue]);
        for of_user in [variables(false, None), variables(true, Some("4"))] {
            assert_eq!(of_user, std::slice::from_ref(&device));
        }
    }
}
