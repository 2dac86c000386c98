//! Large volumes on their way to the device and back: by several threads at once, each through a piece of page-locked memory.
//!
//! The driver copies from and to ordinary memory by one thread, which also has the system find every page of a result.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use cust::sys;

use super::device::{Device, check};
use super::mark::Mark;
use super::pending::SpareSums;
use crate::Error;

/// Bytes that are on their way in one piece: a huge page, where the system has them. Of a result each is one thread's, as the
/// system clears a page for every thread that finds it at once.
const PIECE: usize = 2 << 20;
/// Pieces under way at most, each by a thread of its own.
const LANES: usize = 8;
/// Of these, pieces under way to the device. Nothing has to be found for them, so that few are enough; where six workers on two
/// devices begin at once, more would wait for each other.
const SENDING: usize = 3;

/// Page-locked memory, made when the device is opened. It goes with the device's context.
pub(super) struct Staging {
    lanes: Mutex<Vec<Lane>>,
}

/// One thread's way.
struct Lane {
    /// Of a piece.
    memory: *mut u8,
    /// Behind what was copied from or to it last.
    arrived: Mark,
}

// SAFETY: memory that nobody else knows of, and a mark, which any thread may use.
unsafe impl Send for Lane {}

impl Staging {
    /// Fewer bytes travel faster by themselves.
    pub(super) const WORTH: usize = PIECE / 2;

    /// The device's context must be current. The memory for `sums` comes with the lanes': the driver takes its time to find
    /// page-locked memory, however little it is.
    pub(super) fn new(sums: &SpareSums) -> Result<Staging, Error> {
        let mut memory: *mut c_void = std::ptr::null_mut();
        // SAFETY: `memory` is valid for writing.
        check("page-locked memory", unsafe {
            sys::cuMemAllocHost_v2(&mut memory, LANES * PIECE + SpareSums::BYTES)
        })?;
        sums.add(memory.wrapping_byte_add(LANES * PIECE));
        let lane = |n| Ok(Lane { memory: memory.cast::<u8>().wrapping_add(n * PIECE), arrived: Mark::new()? });
        Ok(Staging { lanes: Mutex::new((0..LANES).map(lane).collect::<Result<_, Error>>()?) })
    }

    /// Fills `to` from device memory, once all earlier work of the stream is done.
    ///
    /// # Safety
    /// `from` is device memory of at least as many bytes.
    pub(super) unsafe fn fetch(&self, device: &Device, from: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), Error> {
        advise_huge_pages(to);
        let stream = device.stream();
        let (head, pages) = to.split_at_mut(to.as_ptr().align_offset(PIECE).min(to.len()));
        let after = head.len();
        let pages = pages.chunks_mut(PIECE).enumerate().map(|(n, page)| (after + n * PIECE, page));
        let pieces = [(0, head)].into_iter().chain(pages).filter(|(_, piece)| !piece.is_empty());
        self.carry(device, "download", LANES, pieces, |Lane { memory, arrived }, (offset, piece)| {
            // SAFETY: both have room for the piece: the lane's own memory, and the caller's promise.
            let result = unsafe {
                sys::cuMemcpyDtoHAsync_v2(memory.cast(), from + offset as u64, piece.len(), stream.as_inner())
            };
            check("download", result)?;
            arrived.set(stream)?;
            arrived.wait("download")?;
            // SAFETY: the copy has arrived, and no other lane uses this memory.
            unsafe { piece.as_mut_ptr().copy_from_nonoverlapping(memory.cast(), piece.len()) };
            Ok(())
        })
    }

    /// Has device memory filled with `from`, which is free again at once, after all earlier work of the stream.
    ///
    /// # Safety
    /// `to` is device memory of at least as many bytes.
    pub(super) unsafe fn send(&self, device: &Device, from: &[u8], to: u64) -> Result<(), Error> {
        let stream = device.stream();
        let pieces = from.chunks(PIECE).enumerate().map(|(n, piece)| (n * PIECE, piece));
        self.carry(device, "upload", SENDING, pieces, |Lane { memory, arrived }, (offset, piece)| {
            // SAFETY: both have room for the piece: the lane's own memory, which no copy reads any more, and the caller's
            // promise.
            let result = unsafe {
                memory.copy_from_nonoverlapping(piece.as_ptr(), piece.len());
                sys::cuMemcpyHtoDAsync_v2(to + offset as u64, memory.cast(), piece.len(), stream.as_inner())
            };
            check("upload", result)?;
            arrived.set(stream)
        })
    }

    /// Has so many lanes do `one` for each piece in turn, each once nothing is under way by it. No piece is empty or longer than
    /// a lane's memory.
    fn carry<T: Send>(
        &self,
        device: &Device,
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
            device.bind(operation)?;
            pieces.into_iter().try_for_each(|piece| {
                lane.arrived.wait(operation)?;
                one(lane, piece)
            })
        };
        // Threads of their own: one of rayon's might take up other work here that waits for the same lock.
        std::thread::scope(|scope| {
            let work = &work;
            let at_work = lanes.iter_mut().zip(of_lanes).filter(|(_, pieces)| !pieces.is_empty());
            let threads: Vec<_> = at_work.map(|pieces| scope.spawn(move || work(pieces))).collect();
            let mut done = threads.into_iter().map(|thread| thread.join());
            done.try_for_each(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }
}

/// Asks for huge pages, where the system has them: each page is found when it is first written.
fn advise_huge_pages(memory: &mut [MaybeUninit<u8>]) {
    #[cfg(target_os = "linux")]
    {
        let page = rustix::param::page_size();
        let start = memory.as_mut_ptr().align_offset(page).min(memory.len());
        let len = (memory.len() - start) / page * page;
        if len > 0 {
            // SAFETY: whole pages of memory that the caller owns; the advice changes no contents. It may be refused.
            let _ = unsafe {
                let start = memory.as_mut_ptr().add(start).cast();
                rustix::mm::madvise(start, len, rustix::mm::Advice::LinuxHugepage)
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
