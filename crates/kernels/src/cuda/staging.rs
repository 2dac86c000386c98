//! Transfers large volumes to and from the device by several threads, each through its own page-locked memory.
//!
//! The driver alone would copy to and from ordinary memory with one thread, which would also cause all page faults of a
//! new result.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use cust::context::{Context, CurrentContext};
use cust::stream::Stream;
use cust::sys;

use super::driver::{check, driver_error};
use super::mark::Mark;
use super::spare_sums::SpareSums;
use crate::{Error, huge_pages};

/// Size of the pieces into which a volume is divided for transfer, bytes: that of a huge page, where the system has
/// huge pages. Each page of a result is first written by one thread, because a page that several threads touch first at
/// the same time is cleared several times.
const PIECE: usize = 2 << 20;
/// A volume is transferred in pieces, by several threads. Largest number of pieces that are in transfer at the same
/// time, each by its own thread.
const LANES: usize = 8;
/// Largest number of pieces that are in transfer to the device at the same time. Uploads cause no page faults, so few
/// are enough; with more, six workers on two devices that start together would wait for each other.
const SENDING: usize = 3;

/// The context and the stream of the device to or from which a volume is transferred.
#[derive(Clone, Copy)]
pub(super) struct Ends<'d> {
    pub(super) context: &'d Context,
    pub(super) stream: &'d Stream,
}

/// Page-locked memory for transfers, allocated when the device is opened and freed with the device's context.
pub(super) struct Staging {
    lanes: Mutex<Vec<Lane>>,
}

/// Page-locked memory through which one thread transfers parts of a volume to or from the device.
struct Lane {
    /// Address of the page-locked memory through which this thread transfers one piece (part of a volume) at a time.
    memory: *mut u8,
    /// Mark (a CUDA event) in the stream after the last copy from or to this page-locked memory.
    arrived: Mark,
}

// SAFETY: no other value contains the address of this memory, and any thread may use the CUDA event.
unsafe impl Send for Lane {}

impl Staging {
    /// Smallest size of a transfer that goes through page-locked memory, bytes. For smaller transfers a direct copy is
    /// faster.
    pub(super) const WORTH: usize = PIECE / 2;

    /// Allocates the page-locked memory of all lanes (transfer threads). The device's context must be current. The
    /// memory of `sums` is allocated together with that of the lanes, because each allocation of page-locked memory
    /// takes the driver a long time, whatever its size.
    pub(super) fn new(sums: &SpareSums) -> Result<Staging, Error> {
        let mut memory: *mut c_void = std::ptr::null_mut();
        // SAFETY: the variable `memory` is valid for writing.
        check("page-locked memory", unsafe {
            sys::cuMemAllocHost_v2(&mut memory, LANES * PIECE + SpareSums::BYTES)
        })?;
        sums.add(memory.wrapping_byte_add(LANES * PIECE));
        let lane = |n| Ok(Lane { memory: memory.cast::<u8>().wrapping_add(n * PIECE), arrived: Mark::new()? });
        Ok(Staging { lanes: Mutex::new((0..LANES).map(lane).collect::<Result<_, Error>>()?) })
    }

    /// Copies device memory to `to`, after all earlier work of the stream.
    ///
    /// # Safety
    /// `from` is device memory of at least as many bytes as `to`.
    pub(super) unsafe fn fetch(&self, ends: Ends<'_>, from: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), Error> {
        huge_pages::advise(to);
        let stream = ends.stream;
        let (head, pages) = to.split_at_mut(to.as_ptr().align_offset(PIECE).min(to.len()));
        let after = head.len();
        let pages = pages.chunks_mut(PIECE).enumerate().map(|(n, page)| (after + n * PIECE, page));
        let pieces = [(0, head)].into_iter().chain(pages).filter(|(_, piece)| !piece.is_empty());
        self.carry(ends, "download", LANES, pieces, |Lane { memory, arrived }, (offset, piece)| {
            // SAFETY: this thread's page-locked memory has room for one piece, the largest part of a volume that is
            // copied at once. The caller promises that the device memory at `from` is large enough.
            let result = unsafe {
                sys::cuMemcpyDtoHAsync_v2(memory.cast(), from + offset as u64, piece.len(), stream.as_inner())
            };
            check("download", result)?;
            arrived.set(stream)?;
            arrived.wait("download")?;
            // SAFETY: the copy to this thread's page-locked memory is complete, and no other thread uses that memory.
            unsafe { piece.as_mut_ptr().copy_from_nonoverlapping(memory.cast(), piece.len()) };
            Ok(())
        })
    }

    /// Copies `from` to device memory, after all earlier work of the stream. `from` may be changed
    /// as soon as this returns.
    ///
    /// # Safety
    /// `to` is device memory of at least as many bytes as `from`.
    pub(super) unsafe fn send(&self, ends: Ends<'_>, from: &[u8], to: u64) -> Result<(), Error> {
        let stream = ends.stream;
        let pieces = from.chunks(PIECE).enumerate().map(|(n, piece)| (n * PIECE, piece));
        self.carry(ends, "upload", SENDING, pieces, |Lane { memory, arrived }, (offset, piece)| {
            // SAFETY: this thread's page-locked memory has room for one piece, the largest part of a volume that is
            // copied at once, and no earlier copy still reads from this memory. The caller promises that the device
            // memory at `to` is large enough.
            let result = unsafe {
                memory.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
                sys::cuMemcpyHtoDAsync_v2(to + offset as u64, memory.cast(), piece.len(), stream.as_inner())
            };
            check("upload", result)?;
            arrived.set(stream)
        })
    }

    /// Calls `one` for each piece of a volume, on `count` threads. Each thread has its own lane, the page-locked memory
    /// for one piece. A lane is used again only after its last transfer is done. No piece is empty or longer than the
    /// memory of a lane.
    fn carry<T: Send>(
        &self,
        ends: Ends<'_>,
        operation: &'static str,
        count: usize,
        pieces: impl Iterator<Item = T>,
        one: impl Fn(&Lane, T) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let count = count.min(rayon::current_num_threads());
        let mut of_lanes: Vec<Vec<T>> = (0..count).map(|_| Vec::new()).collect();
        for (n, piece) in pieces.enumerate() {
            of_lanes[n % count].push(piece);
        }
        let work = |(lane, pieces): (&mut Lane, Vec<T>)| {
            CurrentContext::set_current(ends.context).map_err(|error| driver_error(operation, error))?;
            pieces.into_iter().try_for_each(|piece| {
                lane.arrived.wait(operation)?;
                one(lane, piece)
            })
        };
        // The threads that transfer pieces do not belong to rayon's pool. A thread of that pool could start another
        // task while it waits, and this task might wait for the lock that the transfer holds.
        std::thread::scope(|scope| {
            let work = &work;
            let at_work = lanes.iter_mut().zip(of_lanes).filter(|(_, pieces)| !pieces.is_empty());
            let threads: Vec<_> = at_work.map(|pieces| scope.spawn(move || work(pieces))).collect();
            let mut done = threads.into_iter().map(|thread| thread.join());
            done.try_for_each(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }
}
