//! Windows of the correlation that the kernels of a GPU do not have, and what `--device auto` makes of that.

use antsreg_kernels::{CcDerivative, Cuda};
use antsreg_syn as syn;

use super::channels::{self, ChannelFiles};
use super::settings::{Model, Settings};
use crate::device::{self, DeviceChoice};
use crate::devices::Devices;
use crate::progress::Console;

/// A window that no GPU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "on GPUs windows with the exact derivative or masks have a --cc-radius of up to {most}, asked for was {radius}"
)]
pub struct TooWide {
    /// The radius.
    pub radius: usize,
    /// The largest there is.
    pub most: usize,
}

impl TooWide {
    /// Whether a window is too wide, where it counts at all.
    pub fn of(radius: usize, derivative: CcDerivative, masked: bool) -> Option<TooWide> {
        let most = Cuda::MOST_CC_RADIUS;
        let tiled = masked || derivative == CcDerivative::Exact;
        (tiled && radius > most).then_some(TooWide { radius, most })
    }

    /// Whether a registration with these further pairs of images, and with or without masks, asks for one.
    fn asked_for(settings: &Settings, further: &[ChannelFiles], masked: bool) -> Option<TooWide> {
        if !matches!(settings.model(), Model::Syn | Model::SynOnly) {
            return None;
        }
        let mut channels = vec![channels::first(settings)];
        channels.extend(further.iter().map(|files| channels::channel(settings, files)));
        if channels.iter().all(|channel| channel.metric != syn::Metric::Cc) {
            return None;
        }
        let usual = settings.preset.syn();
        let radius = settings.cc_radius.map_or(usual.radius, usize::from);
        TooWide::of(radius, settings.cc_derivative.map_or(usual.derivative, Into::into), masked)
    }
}

/// The devices for registrations with these further pairs of images and with or without masks: what `auto` stands for is
/// the processor where no GPU could do it, and it is said why. A GPU that was asked for by name stays.
pub fn devices(settings: &Settings, further: &[ChannelFiles], masked: bool, console: &mut Console) -> Devices {
    let (devices, too_wide) = choose(settings, further, masked);
    if let Some(reason) = too_wide {
        console.note(device::instead(&reason));
    }
    devices
}

/// The same, with the reason to be told.
pub fn choose(settings: &Settings, further: &[ChannelFiles], masked: bool) -> (Devices, Option<TooWide>) {
    let auto = settings.device == Devices::One(DeviceChoice::Auto);
    match TooWide::asked_for(settings, further, masked).filter(|_| auto) {
        Some(too_wide) => (Devices::One(DeviceChoice::Cpu), Some(too_wide)),
        None => (settings.device.clone(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_takes_the_cpu_for_windows_that_no_gpu_has() {
        let chosen = |line: &str, masked| {
            let (devices, why) = choose(&Settings::typed(line), &[], masked);
            assert_eq!(why.is_some(), devices == Devices::One(DeviceChoice::Cpu), "{line}");
            devices.to_string()
        };
        let most = Cuda::MOST_CC_RADIUS;
        let wide = format!("--cc-radius {}", most + 1);
        for (line, masked, device) in [
            (format!("{wide} --cc-derivative exact"), false, "cpu"),
            (format!("{wide} --cc-derivative centre"), true, "cpu"),
            (format!("{wide} --cc-derivative centre"), false, "auto"),
            (format!("--cc-radius {most} --cc-derivative exact"), true, "auto"),
            (String::new(), true, "auto"),
            (format!("{wide} --cc-derivative exact --metric mattes"), true, "auto"),
            (format!("{wide} --cc-derivative exact -t affine"), true, "auto"),
            (format!("{wide} --cc-derivative exact --device cuda"), true, "cuda:0"),
            (format!("{wide} --cc-derivative exact --device cuda:all"), true, "cuda:all"),
        ] {
            assert_eq!(chosen(&line, masked), device, "{line}, masked: {masked}");
        }
    }

    #[test]
    fn a_further_pair_may_be_the_one_that_correlates() {
        let settings = Settings::typed("--metric mattes --cc-radius 9 --cc-derivative exact");
        let further: ChannelFiles = "a.nii,b.nii,cc".parse().expect("a pair");
        let (chosen, why) = choose(&settings, &[further], false);
        assert_eq!(chosen, Devices::One(DeviceChoice::Cpu));
        let why = why.expect("a reason").to_string();
        for word in ["--cc-radius", "asked for was 9", "up to 5"] {
            assert!(why.contains(word), "`{word}` is missing in: {why}");
        }
    }
}
