//! Linear maps of the vectors of a field along one axis.

use std::sync::Arc;

use crate::Error;
use crate::axis_map::AxisMap;
use crate::cuda::buffer::Buffer;
use crate::cuda::device::Device;
use crate::cuda::launch::{Argument, Launch, arguments};
use crate::cuda::planes::plane;
use crate::cuda::{Cuda, Field};

/// A linear map along one axis in the memory of the device.
pub struct DeviceAxisMap {
    map: AxisMap,
    first: Buffer<u32>,
    weights: Buffer<f32>,
}

/// Kernel argument with the layout of the structure `AxisMap` in `cu/map_axis.cu`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Map {
    first: u64,
    weights: u64,
    length: u32,
    results: u32,
    width: u32,
}
impl Argument for Map {}

impl DeviceAxisMap {
    pub(super) fn new(device: &Arc<Device>, map: &AxisMap) -> Result<DeviceAxisMap, Error> {
        Ok(DeviceAxisMap {
            map: map.clone(),
            first: Buffer::from_slice(device, map.first())?,
            weights: Buffer::from_slice(device, map.weights())?,
        })
    }
}

pub(super) fn map_axis(
    cuda: &Cuda,
    field: &Field,
    axis: usize,
    on_device: &DeviceAxisMap,
    out: &mut Field,
) -> Result<(), Error> {
    let DeviceAxisMap { map, first, weights } = on_device;
    map.check(axis, field.shape, out.shape)?;
    let kernel = &cuda.kernels.map_axis(&cuda.device)?.map_axis;
    let mut launch = Launch::over_elements(kernel, out.len(), 256, field.bytes() + out.bytes());
    launch.grid[1] = 3;
    let inner = field.shape[..axis].iter().product::<usize>() as u32;
    let map = Map {
        first: first.pointer(),
        weights: weights.pointer(),
        length: map.values() as u32,
        results: map.results() as u32,
        width: map.width() as u32,
    };
    let (from, to) = (plane(field.shape) as u64, plane(out.shape) as u64);
    let (source, target, count) = (field.read(), out.write(), out.len() as u32);
    // SAFETY: every row of the map lies within the values along the axis, which the check has compared with the field,
    // and threads beyond the last result return.
    unsafe { cuda.launch(launch, arguments![source, from, map, inner, count, target, to]) }
}
