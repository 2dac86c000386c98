//! Buffers in device memory with elements of one type.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use cust::sys;

use super::device::Device;
use super::driver::check;
use super::staging::Staging;
use crate::Error;

/// Types for which every bit pattern is a valid value, with the same layout on host and device.
///
/// # Safety
/// No padding, no pointers, no invalid values.
pub unsafe trait Plain: Copy + Default {}
// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: numbers.
unsafe impl Plain for f64 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: numbers.
unsafe impl Plain for u64 {}
// SAFETY: numbers.
unsafe impl Plain for u16 {}
// SAFETY: numbers.
unsafe impl Plain for u8 {}
// SAFETY: an array of numbers has no padding, no pointers and no invalid values.
unsafe impl Plain for [f32; 2] {}
// SAFETY: an array of numbers has no padding, no pointers and no invalid values.
unsafe impl Plain for [f32; 3] {}
// SAFETY: an array of numbers has no padding, no pointers and no invalid values.
unsafe impl Plain for [u32; 2] {}
// SAFETY: an array of numbers has no padding, no pointers and no invalid values.
unsafe impl Plain for [f32; 12] {}

/// Elements of one type in device memory. Operations on a buffer go to the device's stream, in the order of the
/// calls.
pub struct Buffer<T> {
    pointer: u64,
    len: usize,
    device: Arc<Device>,
    element: PhantomData<T>,
}

impl<T: Plain> Buffer<T> {
    /// Allocates a buffer of `len` elements, which are not initialised.
    pub(super) fn uninitialised(device: &Arc<Device>, len: usize) -> Result<Self, Error> {
        let pointer = device.allocate((len * size_of::<T>()).max(1))?;
        Ok(Buffer { pointer, len, device: device.clone(), element: PhantomData })
    }

    pub(super) fn zeroed(device: &Arc<Device>, len: usize) -> Result<Self, Error> {
        let mut buffer = Self::uninitialised(device, len)?;
        buffer.clear(0..len)?;
        Ok(buffer)
    }

    /// Sets all bits of a range of elements to zero. The elements must fill whole words of 32 bits.
    pub fn clear(&mut self, range: Range<usize>) -> Result<(), Error> {
        self.fill(range, 0)
    }

    /// Fills a range of elements with a repeated pattern of 32 bits.
    pub(super) fn fill(&self, range: Range<usize>, bits: u32) -> Result<(), Error> {
        let range = range.start.min(self.len)..range.end.min(self.len);
        let (start, words) = (self.pointer + (range.start * size_of::<T>()) as u64, range.len() * size_of::<T>() / 4);
        self.device.bind("fill memory")?;
        // SAFETY: the range lies within the buffer's allocation.
        check("fill memory", unsafe { sys::cuMemsetD32Async(start, bits, words, self.device.stream().as_inner()) })
    }

    pub(super) fn from_slice(device: &Arc<Device>, values: &[T]) -> Result<Self, Error> {
        let mut buffer = Self::uninitialised(device, values.len())?;
        buffer.upload(values)?;
        Ok(buffer)
    }

    /// Overwrites the first elements of the buffer with `values`.
    pub(super) fn upload(&mut self, values: &[T]) -> Result<(), Error> {
        let count = values.len().min(self.len);
        if count * size_of::<T>() >= Staging::WORTH {
            // SAFETY: the values are plain numbers, whose bytes are all initialised.
            let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), count * size_of::<T>()) };
            // SAFETY: the buffer has at least as many bytes as `bytes`.
            return unsafe { self.device.send(bytes, self.pointer) };
        }
        self.device.bind("upload")?;
        // SAFETY: source and target have at least `count` elements. The driver has read pageable memory when the call
        // returns.
        let result = unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                self.pointer,
                values.as_ptr().cast(),
                count * size_of::<T>(),
                self.device.stream().as_inner(),
            )
        };
        check("upload", result)
    }

    /// Downloads the first `count` elements of the buffer, after all earlier work of the stream.
    pub fn download(&self, count: usize) -> Result<Vec<T>, Error> {
        let count = count.min(self.len);
        if count * size_of::<T>() < Staging::WORTH {
            let mut values = vec![T::default(); count];
            self.download_into(&mut values)?;
            return Ok(values);
        }
        let mut values = Vec::with_capacity(count);
        self.fetch(&mut values.spare_capacity_mut()[..count])?;
        // SAFETY: `fetch` has written all `count` elements, and any bits are a valid number.
        unsafe { values.set_len(count) };
        Ok(values)
    }

    /// Downloads the first elements of the buffer by the threads of the staging memory. The buffer must have at least as
    /// many elements as `room`.
    fn fetch(&self, room: &mut [MaybeUninit<T>]) -> Result<(), Error> {
        let count = self.len.min(room.len());
        let room = &mut room[..count];
        // SAFETY: `bytes` covers exactly `room`, and is only written to, so that it need not be initialised.
        let bytes = unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), size_of_val(room)) };
        // SAFETY: the buffer has at least as many bytes as `bytes`.
        unsafe { self.device.fetch(self.pointer, bytes) }
    }

    pub(super) fn download_into(&self, values: &mut [T]) -> Result<(), Error> {
        let count = values.len().min(self.len);
        if count * size_of::<T>() >= Staging::WORTH {
            // SAFETY: the elements are the first `count` of `values`. `fetch` only writes numbers to them.
            return self.fetch(unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), count) });
        }
        self.device.bind("download")?;
        // SAFETY: source and target have at least `count` elements, and this function waits for the stream before
        // `values` is used.
        let result = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                values.as_mut_ptr().cast(),
                self.pointer,
                count * size_of::<T>(),
                self.device.stream().as_inner(),
            )
        };
        check("download", result)?;
        self.device.synchronize("download")
    }

    /// A copy of the buffer, made on the stream of the buffer's own device.
    pub(super) fn duplicate(&self) -> Result<Self, Error> {
        Self::copy_of(&self.device, self)
    }

    /// A copy of a buffer on the stream of `device`. The buffer may belong to another stream, if all work of that
    /// stream is done.
    pub(super) fn copy_of(device: &Arc<Device>, other: &Self) -> Result<Self, Error> {
        let mut copy = Self::uninitialised(device, other.len)?;
        copy.copy_from(other)?;
        Ok(copy)
    }

    /// Copies the first elements of another buffer to this one, as many as both have.
    pub fn copy_from(&mut self, other: &Self) -> Result<(), Error> {
        let bytes = self.len.min(other.len) * size_of::<T>();
        self.device.bind("copy")?;
        // SAFETY: both buffers have at least this many bytes and do not overlap.
        let result =
            unsafe { sys::cuMemcpyDtoDAsync_v2(self.pointer, other.pointer, bytes, self.device.stream().as_inner()) };
        check("copy", result)
    }

    /// Number of elements of the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the buffer's first element on the device, for the arguments of a kernel.
    pub fn pointer(&self) -> u64 {
        self.pointer
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: `allocate` of this device returned the address, and no other value contains it.
        unsafe { self.device.free(self.pointer) };
    }
}

/// Returns a buffer with at least `len` elements: the given one, or a new one that replaces it.
pub(super) fn grown<'b, T: Plain>(
    buffer: &'b mut Option<Buffer<T>>,
    len: usize,
    device: &Arc<Device>,
) -> Result<&'b mut Buffer<T>, Error> {
    match buffer.take_if(|buffer| buffer.len() >= len) {
        Some(large) => Ok(buffer.insert(large)),
        None => Ok(buffer.insert(Buffer::uninitialised(device, len.next_power_of_two())?)),
    }
}
