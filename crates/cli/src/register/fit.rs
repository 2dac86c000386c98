//! The plan of a registration that fits its device: where a GPU has too little memory, `--device auto` takes the processor.

use super::args::Args;
use super::device_memory::DeviceMemory;
use super::found::Wanted;
use super::inputs::Inputs;
use super::plan::Plan;
use crate::device::{Description, DeviceChoice, TooLittle};
use crate::error::UsageError;

/// What is done, on a device that can.
pub struct Fitted {
    /// What is done.
    pub plan: Plan,
    /// Memory of the GPU, if it is one.
    pub memory: Option<DeviceMemory>,
    /// Why `auto` takes the processor though there is a GPU.
    pub too_little_for_auto: Option<TooLittle>,
}

impl Fitted {
    /// For the device that was opened, where a GPU has so much memory free. With too little, `auto` takes the processor; a
    /// GPU that was asked for by name stays.
    pub fn new(
        args: &Args,
        inputs: &Inputs,
        choice: DeviceChoice,
        device: Description,
        free_bytes: Option<u64>,
    ) -> Result<Fitted, UsageError> {
        let plan = Plan::resolve(args, inputs, device)?;
        let request = inputs.request(&plan, Wanted::new(args, &plan.device));
        let memory = free_bytes.map(|free_bytes| DeviceMemory::before(&request, free_bytes));
        let too_little = memory.and_then(|memory| memory.too_little(plan.device.choice()));
        if choice != DeviceChoice::Auto || too_little.is_none() {
            return Ok(Fitted { plan, memory, too_little_for_auto: None });
        }
        let plan = Plan::resolve(args, inputs, Description::Cpu)?;
        Ok(Fitted { plan, memory: None, too_little_for_auto: too_little })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use antsreg_core::{AffineTransform, Grid, Volume};
    use clap::Parser;

    use super::*;
    use crate::register::Start;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn inputs() -> Inputs {
        let grid = Grid::axis_aligned([40, 50, 30], [4.0; 3]);
        let image = || Volume::filled(grid.clone(), 1.0);
        Inputs {
            fixed: Arc::new(image()),
            fixed_channels: Vec::new(),
            moving: image(),
            moving_channels: Vec::new(),
            fixed_centre: grid.centre(),
            fixed_mask: None,
            moving_mask: None,
            fixed_labels: None,
            moving_labels: None,
            label_list: None,
            start: Start::Headers,
            initial: AffineTransform::identity(),
        }
    }

    #[test]
    fn with_too_little_memory_auto_takes_the_cpu_and_a_named_gpu_is_refused() {
        let Line { args } = Line::parse_from("register -f f.nii -m m.nii -o p".split(' '));
        let (inputs, gpu) = (inputs(), || Description::Cuda {
            index: 0,
            name: "GPU".into(),
            compute_capability: "9.0".into(),
            driver_cuda: "13.0".into(),
            memory_bytes: 1,
        });
        let fitted = |choice, free| Fitted::new(&args, &inputs, choice, gpu(), Some(free)).expect("a plan");
        let plenty = fitted(DeviceChoice::Auto, u64::MAX);
        let needed = plenty.memory.expect("a GPU's").planned_bytes;
        for choice in [DeviceChoice::Auto, DeviceChoice::Cuda(0)] {
            let enough = fitted(choice, needed);
            assert_eq!((&enough.plan.device, enough.too_little_for_auto), (&gpu(), None));
            assert_eq!(enough.memory.and_then(|memory| memory.too_little(choice)), None);
        }
        let fallen_back = fitted(DeviceChoice::Auto, needed - 1);
        assert_eq!(fallen_back.plan, Plan { device: Description::Cpu, ..plenty.plan });
        assert_eq!(fallen_back.memory, None, "of a GPU that is not used");
        let reason = fallen_back.too_little_for_auto.expect("a reason").to_string();
        for word in
            ["cuda:0", &format!("{} MB", needed.div_ceil(1_000_000)), &format!("{} MB", (needed - 1) / 1_000_000)]
        {
            assert!(reason.contains(word), "`{word}` is missing in: {reason}");
        }
        let refused = fitted(DeviceChoice::Cuda(0), needed - 1);
        assert_eq!((refused.plan.device, refused.too_little_for_auto), (gpu(), None));
        assert!(refused.memory.and_then(|memory| memory.too_little(DeviceChoice::Cuda(0))).is_some());
    }
}
