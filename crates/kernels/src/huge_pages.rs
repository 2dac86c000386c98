//! Huge pages for the memory of volumes.
#![expect(unsafe_code, reason = "the advice is a call of the system that takes a raw pointer")]

/// Asks the system to use huge pages for this memory, so that fewer pages are first touched and looked up. It is of use
/// before the memory is first written. The system may refuse.
pub(crate) fn advise<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        let (bytes, page) = (size_of_val(memory), rustix::param::page_size());
        let start = memory.as_mut_ptr().cast::<u8>();
        let first = start.align_offset(page).min(bytes);
        let len = (bytes - first) / page * page;
        if len > 0 {
            // SAFETY: the range is whole pages of memory that the caller owns, and the advice does not change their
            // contents.
            let _ = unsafe { rustix::mm::madvise(start.add(first).cast(), len, rustix::mm::Advice::LinuxHugepage) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
