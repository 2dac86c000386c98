//! Memory of a device as a budget that its workers share. A worker that needs more than is free waits until another
//! worker returns memory.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A budget of device memory in bytes. Workers take bytes from the budget before they compute, and return the bytes
/// afterwards.
#[derive(Debug)]
pub struct MemoryBudget {
    total: u64,
    left: Mutex<u64>,
    more: Condvar,
}

/// Bytes taken from a memory budget. They are returned to the budget when this value is dropped.
#[derive(Debug)]
pub struct MemoryShare {
    bytes: u64,
    of: Arc<MemoryBudget>,
}

impl MemoryBudget {
    /// Makes a memory budget of `total` bytes, all of them free.
    pub fn new(total: u64) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget { total, left: Mutex::new(total), more: Condvar::new() })
    }

    /// Size of the memory budget of a device, bytes: the bytes that workers have taken and the bytes that are free,
    /// together.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn left(&self) -> MutexGuard<'_, u64> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` from the memory budget, or returns `None` without waiting if fewer bytes are free.
    pub fn try_take(self: &Arc<Self>, bytes: u64) -> Option<MemoryShare> {
        let mut left = self.left();
        *left = left.checked_sub(bytes)?;
        Some(MemoryShare { bytes, of: self.clone() })
    }

    /// Waits until `bytes` of the memory budget are free, and takes them. Returns `None` at once if the whole budget is
    /// smaller than `bytes`.
    pub fn take(self: &Arc<Self>, bytes: u64) -> Option<MemoryShare> {
        if bytes > self.total {
            return None;
        }
        let enough = self.more.wait_while(self.left(), |left| *left < bytes);
        *enough.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Some(MemoryShare { bytes, of: self.clone() })
    }
}

impl MemoryShare {
    /// Reduces the taken bytes to at most `bytes`, and returns the rest to the memory budget.
    pub fn keep(&mut self, bytes: u64) {
        let back = self.bytes.saturating_sub(bytes);
        self.bytes -= back;
        *self.of.left() += back;
        self.of.more.notify_all();
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.keep(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn what_is_taken_comes_back() {
        let budget = MemoryBudget::new(10);
        let mut share = budget.try_take(8).expect("enough is left");
        assert!(budget.try_take(3).is_none());
        assert!(budget.take(11).is_none(), "more than there ever is");
        share.keep(7);
        let other = budget.try_take(3).expect("enough is left");
        assert!(budget.try_take(1).is_none());
        drop((share, other));
        assert!(budget.try_take(10).is_some());
    }

    #[test]
    fn never_more_is_taken_than_there_is() {
        let (budget, taken) = (MemoryBudget::new(10), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [3, 4, 5, 6] {
                let (budget, taken) = (&budget, &taken);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let share = budget.take(bytes).expect("it fits");
                        assert!(taken.fetch_add(bytes, Ordering::SeqCst) + bytes <= 10);
                        std::thread::yield_now();
                        taken.fetch_sub(bytes, Ordering::SeqCst);
                        drop(share);
                    }
                });
            }
        });
    }
}
